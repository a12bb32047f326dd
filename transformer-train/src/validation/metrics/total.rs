//! [`Total`]: the sums over an interval from which a metric is computed, and the measurements of a batch.

use std::sync::Arc;

use burn::tensor::ExecutionError;
use burn_train::ItemLazy;
use burn_train::metric::{Adaptor, MetricMetadata};

use crate::error::TrainError;
use crate::step::Report;
use crate::validation::external_scorer::ExternalScorer;
use crate::validation::text_scores::{TextCounts, TextMetrics};

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

pub(crate) type OnScoreError = Arc<dyn Fn(TrainError) + Send + Sync>;

#[derive(Clone)]
pub(super) enum Total {
    /// One sum divided by another, so that every batch counts in proportion to its size.
    Ratio {
        terms: fn(&BatchMetrics) -> Terms,
        /// Applied to the ratio.
        transform: fn(f64) -> f64,
        /// Value of the last batch.
        last: f64,
        sum: Terms,
    },
    /// A corpus-level score of all translations.
    Text {
        metrics: TextMetrics,
        score: fn(&TextMetrics, &TextCounts) -> f64,
        counts: TextCounts,
        n_sentences: usize,
    },
    LearningRate(f64),
    Command {
        scorer: ExternalScorer,
        on_error: OnScoreError,
        /// The translations, with the positions of their pairs.
        texts: Vec<(usize, String)>,
        /// The score, once the interval is complete.
        score: Option<f64>,
    },
}

/// Numerator and denominator of a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) enum Terms {
    /// Sums of one batch; they are added to those of earlier batches.
    Batch(f64, f64),
    /// Of the whole interval so far; they replace those before.
    Interval(f64, f64),
}

/// Returns the exponential of the mean logarithm: for perplexities, which are exponentials of losses.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    match values {
        [value] => *value,
        _ => (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(),
    }
}

impl Terms {
    fn ratio(self) -> f64 {
        let (Self::Batch(numerator, denominator) | Self::Interval(numerator, denominator)) = self;
        numerator / denominator
    }
}

impl Total {
    pub(super) fn ratio(terms: fn(&BatchMetrics) -> Terms, transform: fn(f64) -> f64) -> Self {
        Self::Ratio {
            terms,
            transform,
            last: f64::NAN,
            sum: Terms::Batch(0.0, 0.0),
        }
    }

    pub(super) fn text(metrics: TextMetrics, score: fn(&TextMetrics, &TextCounts) -> f64) -> Self {
        Self::Text {
            metrics,
            score,
            counts: TextCounts::default(),
            n_sentences: 0,
        }
    }

    /// Adds a batch. Returns its value if that is NaN or infinite, although it has a denominator.
    pub(super) fn add(&mut self, batch: &BatchMetrics, metadata: &MetricMetadata) -> Option<f64> {
        match self {
            Self::Ratio {
                terms,
                transform,
                last,
                sum,
            } => {
                let terms = terms(batch);
                *last = transform(terms.ratio());
                *sum = match (*sum, terms) {
                    (Terms::Batch(a, b), Terms::Batch(c, d)) => Terms::Batch(a + c, b + d),
                    (_, latest) => latest,
                };
                let is_known = !matches!(terms, Terms::Batch(_, n) if n == 0.0);
                return (is_known && !last.is_finite()).then_some(*last);
            }
            Self::Text {
                counts,
                n_sentences,
                ..
            } => {
                counts.add(&batch.translations.text);
                *n_sentences += batch.translations.n_sentences;
            }
            Self::LearningRate(last) => {
                *last = metadata.lr.as_ref().map_or(*last, |rates| rates.base());
            }
            Self::Command { texts, .. } => texts.extend(batch.translations.texts.iter().cloned()),
        }
        None
    }

    /// Ends an interval: runs the command, if there is one.
    pub(super) fn finish(&mut self) {
        if let Self::Command {
            scorer,
            on_error,
            texts,
            score,
        } = self
        {
            texts.sort_unstable();
            let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
            *score = Some(scorer.score(&texts).unwrap_or_else(|error| {
                on_error(error);
                f64::NAN
            }));
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Ratio { sum, .. } => *sum = Terms::Batch(0.0, 0.0),
            Self::Text {
                counts,
                n_sentences,
                ..
            } => (*counts, *n_sentences) = (TextCounts::default(), 0),
            Self::LearningRate(_) => {}
            Self::Command { texts, score, .. } => (*texts, *score) = (Vec::new(), None),
        }
    }

    /// Returns the value of the interval so far; NaN if it has none.
    pub(super) fn value(&self) -> f64 {
        match self {
            Self::Ratio { transform, sum, .. } => transform(sum.ratio()),
            Self::Text {
                metrics,
                score,
                counts,
                ..
            } => score(metrics, counts),
            Self::LearningRate(last) => *last,
            Self::Command { score, .. } => score.unwrap_or(f64::NAN),
        }
    }

    /// Returns the value of the last batch, or for text of all so far: the score of a single batch means little.
    pub(super) fn last(&self) -> Option<f64> {
        match self {
            Self::Ratio { last, .. } => last.is_finite().then_some(*last),
            _ => self.running(),
        }
    }

    pub(super) fn running(&self) -> Option<f64> {
        let value = self.value();
        let is_known = match self {
            Self::Ratio { .. } => value.is_finite(),
            Self::Text { n_sentences, .. } => *n_sentences > 0,
            Self::LearningRate(_) => true,
            Self::Command { .. } => false,
        };
        is_known.then_some(value)
    }

    pub(super) fn formatted(&self, value: f64) -> String {
        match self {
            Self::Ratio { .. } if value >= 1000.0 => format!("{value:.0}"),
            Self::Ratio { .. } => format!("{value:.3}"),
            Self::Text { .. } => format!("{value:.1}"),
            Self::LearningRate(_) => format!("{value:.2e}"),
            Self::Command { score: None, .. } => "after all pairs".to_owned(),
            Self::Command { .. } => format!("{value:.4}"),
        }
    }
}
