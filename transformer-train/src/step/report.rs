//! What a training step and a validation step report to the Learner's metrics.
//!
//! Their scalars stay on the device until the Learner synchronizes, which reads all of them at once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use burn::tensor::{ExecutionError, Tensor};
use burn_train::ItemLazy;
use burn_train::metric::Adaptor;

use super::loss::LossSums;
use crate::batching::{BatchSize, IntervalTiming, Update};
use crate::validation::{BatchMetrics, TranslationCounts};

/// The global norm of an update's gradients, `[1]`: set when the gradients of all devices are summed.
pub(crate) type GradientNorm = Arc<OnceLock<Tensor<1>>>;

/// The report of one training update.
#[derive(Clone, Debug)]
pub(crate) struct TrainReport {
    update: u64,
    size: BatchSize,
    timing: IntervalTiming,
    /// Time from the start of the interval to the end of the update; zero if not measured.
    elapsed: Duration,
    scalars: Scalars,
}

impl TrainReport {
    /// `gradient_norm` may be set later than this report is made.
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

impl Adaptor<BatchMetrics> for TrainReport {
    fn adapt(&self) -> BatchMetrics {
        let ReadScalars {
            smoothed,
            nll,
            gradient_norm,
        } = self.scalars.values();
        BatchMetrics {
            update: self.update,
            size: self.size,
            timing: self.timing,
            elapsed: self.elapsed,
            smoothed,
            nll,
            gradient_norm,
            translations: TranslationCounts::default(),
        }
    }
}

/// The report of one validation batch.
#[derive(Clone, Debug)]
pub(crate) struct ValidReport {
    size: BatchSize,
    scalars: Scalars,
    translations: TranslationCounts,
}

impl ValidReport {
    pub(crate) fn new(size: BatchSize, losses: LossSums, translations: TranslationCounts) -> Self {
        Self {
            size,
            scalars: Scalars::on_device(losses, GradientNorm::default()),
            translations,
        }
    }
}

impl ItemLazy for ValidReport {
    fn sync(self) -> Result<Self, ExecutionError> {
        Ok(Self {
            scalars: self.scalars.read()?,
            ..self
        })
    }
}

impl Adaptor<BatchMetrics> for ValidReport {
    fn adapt(&self) -> BatchMetrics {
        let ReadScalars { smoothed, nll, .. } = self.scalars.values();
        BatchMetrics {
            size: self.size,
            smoothed,
            nll,
            translations: self.translations.clone(),
            ..BatchMetrics::default()
        }
    }
}

/// The scalars that a step computes, on the device or read from it.
#[derive(Clone, Debug)]
enum Scalars {
    OnDevice(Box<DeviceScalars>),
    Read(ReadScalars),
}

#[derive(Clone, Debug)]
struct DeviceScalars {
    losses: LossSums,
    gradient_norm: GradientNorm,
}

#[derive(Clone, Copy, Debug)]
struct ReadScalars {
    smoothed: f64,
    nll: f64,
    /// `None` if there are no gradients, or the norm is not known yet.
    gradient_norm: Option<f64>,
}

impl Scalars {
    fn on_device(losses: LossSums, gradient_norm: GradientNorm) -> Self {
        Self::OnDevice(Box::new(DeviceScalars {
            losses,
            gradient_norm,
        }))
    }

    /// Reads all scalars from the device in one transfer.
    fn read(self) -> Result<Self, ExecutionError> {
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
                Ok(Self::Read(ReadScalars {
                    smoothed: next(),
                    nll: next(),
                    gradient_norm: values.next(),
                }))
            }
            read @ Self::Read(_) => Ok(read),
        }
    }

    /// Returns the values that were read; NaN before that.
    fn values(&self) -> ReadScalars {
        match self {
            Self::Read(scalars) => *scalars,
            Self::OnDevice(_) => ReadScalars {
                smoothed: f64::NAN,
                nll: f64::NAN,
                gradient_norm: None,
            },
        }
    }
}
