//! The measurements of one batch, from which all metrics are computed.

use std::time::Duration;

use burn_train::metric::Adaptor;

use crate::batching::{BatchSize, IntervalTiming};
use crate::step::{HostScalars, TrainReport};
use crate::validation::text_scores::TextCounts;

/// The measurements of one training update or one validation batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchMetrics {
    /// Number of the update, from 0.
    pub(crate) update: u64,
    /// Index of the corpus of a validation batch, from 0.
    pub(crate) corpus: usize,
    pub(crate) size: BatchSize,
    pub(crate) timing: IntervalTiming,
    /// Time from the start of the interval to the end of the update; zero if not measured.
    pub(crate) elapsed: Duration,
    /// Summed label-smoothed cross-entropy, in nats.
    pub(crate) smoothed: f64,
    /// Summed negative log-likelihood, in nats.
    pub(crate) nll: f64,
    /// Global norm of the gradients before clipping; `None` for validation, or if not yet known.
    pub(crate) gradient_norm: Option<f64>,
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

impl Adaptor<BatchMetrics> for TrainReport {
    fn adapt(&self) -> BatchMetrics {
        let HostScalars {
            smoothed,
            nll,
            gradient_norm,
        } = self.scalars.values();
        BatchMetrics {
            update: self.update,
            corpus: 0,
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
