//! [`ValidReport`]: the report of a validation batch.

use burn::tensor::ExecutionError;
use burn_train::ItemLazy;
use burn_train::metric::Adaptor;

use super::metrics::{BatchMetrics, TranslationCounts};
use super::pair_translator::Translation;
use super::valid_loader::ValidBatch;
use crate::batching::BatchSize;
use crate::step::{GradientNorm, HostScalars, LossSums, Scalars};

/// The report of one validation batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValidReport {
    corpus: usize,
    size: BatchSize,
    scalars: Scalars,
    translations: TranslationCounts,
}

impl ValidReport {
    /// `translations` are those of the batch's sentences, if they are translated.
    pub(super) fn new(
        batch: &ValidBatch,
        losses: LossSums,
        translations: Option<Vec<Translation>>,
    ) -> Self {
        let translations = translations.map(|translations| batch.count(&translations));
        Self {
            corpus: batch.corpus(),
            size: batch.batch.size,
            scalars: Scalars::on_device(losses, GradientNorm::default()),
            translations: translations.unwrap_or_default(),
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
        let HostScalars { smoothed, nll, .. } = self.scalars.values();
        BatchMetrics {
            corpus: self.corpus,
            size: self.size,
            smoothed,
            nll,
            translations: self.translations.clone(),
            ..BatchMetrics::default()
        }
    }
}
