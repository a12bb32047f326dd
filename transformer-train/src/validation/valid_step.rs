//! The validation step: the loss of a batch, and the scores of its translations.

use burn::tensor::ExecutionError;
use burn_train::metric::Adaptor;
use burn_train::{InferenceStep, ItemLazy};

use super::metrics::{BatchMetrics, TranslationCounts};
use super::valid_loader::ValidBatch;
use crate::batching::BatchSize;
use crate::step::{GradientNorm, HostScalars, Objective, Scalars};

impl InferenceStep for Objective {
    type Input = ValidBatch;
    type Output = ValidReport;

    fn step(&self, batch: ValidBatch) -> ValidReport {
        let losses = self.loss(&batch.batch);
        ValidReport {
            size: batch.batch.size,
            scalars: Scalars::on_device(losses, GradientNorm::default()),
            translations: batch.translate(self.published()),
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
        let HostScalars { smoothed, nll, .. } = self.scalars.values();
        BatchMetrics {
            size: self.size,
            smoothed,
            nll,
            translations: self.translations.clone(),
            ..BatchMetrics::default()
        }
    }
}
