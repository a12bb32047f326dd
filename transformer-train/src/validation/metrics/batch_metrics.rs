//! The measurements of one batch, from which all metrics are computed.

use burn::tensor::ExecutionError;
use burn_train::ItemLazy;
use burn_train::metric::Adaptor;

use crate::step::Report;
use crate::validation::text_scores::TextCounts;

/// The measurements of one training update, which has no translations, or of one validation batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchMetrics {
    pub(crate) report: Report,
    pub(crate) translations: TranslationCounts,
}

/// Counts over the translated sentences of a validation batch, and the translations.
#[derive(Clone, Debug, Default)]
pub(crate) struct TranslationCounts {
    pub(crate) n_sentences: usize,
    /// Number of sentences with a translation that equals the reference exactly.
    pub(crate) n_exact: usize,
    /// Counts for BLEU and chrF.
    pub(crate) text: TextCounts,
    /// The translations, with the positions of their pairs.
    pub(crate) texts: Vec<(usize, String)>,
}

impl ItemLazy for BatchMetrics {
    fn sync(self) -> Result<Self, ExecutionError> {
        Ok(Self {
            report: self.report.sync()?,
            ..self
        })
    }
}

impl Adaptor<Self> for BatchMetrics {
    fn adapt(&self) -> Self {
        self.clone()
    }
}

impl Adaptor<BatchMetrics> for Report {
    fn adapt(&self) -> BatchMetrics {
        BatchMetrics {
            report: self.clone(),
            ..BatchMetrics::default()
        }
    }
}
