//! The report of an update or of a validation batch, from which the Learner's metrics are computed.
//!
//! Its losses stay on the device until the Learner synchronizes, which reads all of them at once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use burn::tensor::{ExecutionError, Tensor};
use burn_train::ItemLazy;

use super::loss::LossSums;
use crate::batching::{BatchSize, IntervalTiming};

/// The global norm of an update's gradients, `[1]`, set once the gradients of all devices are summed.
pub(crate) type GradientNorm = Arc<OnceLock<Tensor<1>>>;

/// The report of one training update or one validation batch; the default is that of zero sentences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Number of the update, from 0.
    pub(crate) update: u64,
    /// Index of the corpus of a validation batch, from 0.
    pub(crate) corpus: usize,
    pub(crate) size: BatchSize,
    pub(crate) timing: IntervalTiming,
    /// Time from the start of the interval to the end of the update; zero if not measured.
    pub(crate) elapsed: Duration,
    /// Summed label-smoothed cross-entropy, in nats; NaN until it is read.
    pub(crate) smoothed: f64,
    /// Summed negative log-likelihood, in nats; NaN until it is read.
    pub(crate) nll: f64,
    /// Global norm of the gradients before clipping; `None` for validation, or if not yet known.
    pub(crate) gradient_norm: Option<f64>,
    /// The losses and the norm on the device, until they are read.
    pub(crate) on_device: Option<Box<(LossSums, GradientNorm)>>,
}

impl Report {
    /// Creates a report of losses on the device. `gradient_norm` may be set later.
    pub(crate) fn new(size: BatchSize, losses: LossSums, gradient_norm: GradientNorm) -> Self {
        Self {
            size,
            smoothed: f64::NAN,
            nll: f64::NAN,
            on_device: Some(Box::new((losses, gradient_norm))),
            ..Self::default()
        }
    }
}

impl ItemLazy for Report {
    /// Reads all losses from the device in one transfer.
    fn sync(mut self) -> Result<Self, ExecutionError> {
        let Some(on_device) = self.on_device.take() else {
            return Ok(self);
        };
        let (LossSums { smoothed, nll }, gradient_norm) = *on_device;
        let device = smoothed.device();
        let gradient_norm = gradient_norm.get().cloned();
        let gradient_norm = gradient_norm.map(|norm| norm.to_device(&device));
        let tensors = [smoothed, nll].into_iter().chain(gradient_norm);
        let data = Tensor::cat(tensors.collect(), 0).try_into_data()?; // waits for the device
        let mut values = data.iter::<f64>();
        self.smoothed = values.next().unwrap_or(f64::NAN);
        self.nll = values.next().unwrap_or(f64::NAN);
        self.gradient_norm = values.next();
        let started = self.timing.started;
        self.elapsed = started.map_or(Duration::ZERO, |started| started.elapsed());
        Ok(self)
    }
}
