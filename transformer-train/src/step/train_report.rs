//! The report of a training step, from which the Learner's metrics are computed.
//!
//! Its scalars stay on the device until the Learner synchronizes, which reads all of them at once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use burn::tensor::{ExecutionError, Tensor};
use burn_train::ItemLazy;

use super::loss::LossSums;
use crate::batching::{BatchSize, IntervalTiming, Update};

/// The global norm of an update's gradients, `[1]`, set once the gradients of all devices are summed.
pub(crate) type GradientNorm = Arc<OnceLock<Tensor<1>>>;

/// The report of one training update.
#[derive(Clone, Debug)]
pub(crate) struct TrainReport {
    /// Number of the update, from 0.
    pub(crate) update: u64,
    pub(crate) size: BatchSize,
    pub(crate) timing: IntervalTiming,
    /// Time from the start of the interval to the end of the update; zero if not measured.
    pub(crate) elapsed: Duration,
    pub(crate) scalars: Scalars,
}

impl TrainReport {
    /// Creates the report. `gradient_norm` may be set later.
    pub(crate) fn new(update: &Update, losses: LossSums, gradient_norm: GradientNorm) -> Self {
        Self {
            update: update.number,
            size: update.size,
            timing: update.timing,
            elapsed: Duration::ZERO,
            scalars: Scalars::on_device(losses, gradient_norm),
        }
    }
}

impl ItemLazy for TrainReport {
    fn sync(self) -> Result<Self, ExecutionError> {
        let scalars = self.scalars.read()?; // waits for the device
        let started = self.timing.started;
        Ok(Self {
            scalars,
            elapsed: started.map_or(Duration::ZERO, |started| started.elapsed()),
            ..self
        })
    }
}

/// The scalars that a step computes, on the device or read from it.
#[derive(Clone, Debug)]
pub(crate) enum Scalars {
    OnDevice(Box<DeviceScalars>),
    Host(HostScalars),
}

#[derive(Clone, Debug)]
pub(crate) struct DeviceScalars {
    losses: LossSums,
    gradient_norm: GradientNorm,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostScalars {
    /// Summed label-smoothed cross-entropy, in nats.
    pub(crate) smoothed: f64,
    /// Summed negative log-likelihood, in nats.
    pub(crate) nll: f64,
    /// The global norm; `None` if there are no gradients, or it is not known yet.
    pub(crate) gradient_norm: Option<f64>,
}

impl Default for Scalars {
    /// Returns the scalars of zero sentences.
    fn default() -> Self {
        Self::Host(HostScalars::default())
    }
}

impl Scalars {
    pub(crate) fn on_device(losses: LossSums, gradient_norm: GradientNorm) -> Self {
        Self::OnDevice(Box::new(DeviceScalars {
            losses,
            gradient_norm,
        }))
    }

    /// Reads all scalars from the device in one transfer.
    pub(crate) fn read(self) -> Result<Self, ExecutionError> {
        match self {
            Self::OnDevice(scalars) => {
                let DeviceScalars {
                    losses: LossSums { smoothed, nll },
                    gradient_norm,
                } = *scalars;
                let device = smoothed.device();
                let gradient_norm = gradient_norm.get().cloned();
                let gradient_norm = gradient_norm.map(|norm| norm.to_device(&device));
                let tensors = [smoothed, nll].into_iter().chain(gradient_norm);
                let data = Tensor::cat(tensors.collect(), 0).try_into_data()?;
                let mut values = data.iter::<f64>();
                let mut next = || values.next().unwrap_or(f64::NAN);
                Ok(Self::Host(HostScalars {
                    smoothed: next(),
                    nll: next(),
                    gradient_norm: values.next(),
                }))
            }
            host @ Self::Host(_) => Ok(host),
        }
    }

    /// Returns the values that were read; NaN before that.
    pub(crate) fn values(&self) -> HostScalars {
        match self {
            Self::Host(scalars) => *scalars,
            Self::OnDevice(_) => HostScalars {
                smoothed: f64::NAN,
                nll: f64::NAN,
                gradient_norm: None,
            },
        }
    }
}
