//! [`IntervalMetric`]: every metric of an interval, as Burn's Learner asks for it.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::total::{BatchMetrics, OnScoreError, Terms, Total, geometric_mean};
use crate::validation::external_scorer::ExternalScorer;
use crate::validation::text_scores::TextMetrics;

// The names of the metrics in the dashboard, `metrics.csv` and the log.
pub(crate) const LOSS: &str = "Loss";
pub(crate) const PERPLEXITY: &str = "Perplexity";
pub(crate) const SPEED: &str = "Target tokens/s";
pub(crate) const PADDING: &str = "Padding";
pub(crate) const WAITING: &str = "Waiting for data";
pub(crate) const GRADIENT_NORM: &str = "Gradient norm";
pub(crate) const EXACT_MATCH: &str = "Exact match";
pub(crate) const BLEU: &str = "BLEU";
pub(crate) const CHRF: &str = "chrF2";
pub(crate) const LEARNING_RATE: &str = "Learning Rate";
pub(crate) const COMMAND: &str = "Command score";

/// The text between the name of a metric and the number of a corpus.
const OF_CORPUS: &str = " corpus ";

/// Returns the name of a metric of one of several corpora, by its number from 1.
pub(crate) fn of_corpus(name: &str, number: usize) -> String {
    format!("{name}{OF_CORPUS}{number}")
}

/// Returns the number of the corpus in a name that [`of_corpus`] returned for this metric.
pub(crate) fn number_of_corpus(name: &str, of_corpus: &str) -> Option<usize> {
    let number = of_corpus.strip_prefix(name)?.strip_prefix(OF_CORPUS)?;
    number.parse().ok()
}

pub(crate) type OnNonFinite = Arc<dyn Fn(u64, f64) + Send + Sync>;

/// A metric over an interval: of all batches, of one of several validation corpora, or the mean over these, so that
/// each counts the same regardless of size.
#[derive(Clone)]
pub(crate) struct IntervalMetric {
    name: Arc<String>,
    unit: Option<&'static str>,
    higher_is_better: bool,
    /// One for all batches, or one for each corpus.
    totals: Vec<Total>,
    mean: fn(&[f64]) -> f64,
    /// Index of the only corpus that counts, if one does.
    only: Option<usize>,
    on_non_finite: Option<OnNonFinite>,
}

impl IntervalMetric {
    /// Label-smoothed cross-entropy per token, in nats; reports NaN and infinity.
    pub(crate) fn loss(on_non_finite: OnNonFinite) -> Self {
        Self::ratio(LOSS, |it| {
            Terms::Batch(it.report.smoothed, it.report.size.n_labels as f64)
        })
        .checked_by(on_non_finite)
    }

    /// Perplexity: `exp` of the negative log-likelihood per token, without label smoothing.
    pub(crate) fn perplexity() -> Self {
        let total = Total::ratio(
            |it| Terms::Batch(it.report.nll, it.report.size.n_labels as f64),
            f64::exp,
        );
        Self {
            mean: geometric_mean,
            ..Self::new(PERPLEXITY, total)
        }
    }

    /// Target tokens trained per second, without padding.
    pub(crate) fn speed() -> Self {
        Self::ratio(SPEED, |it| {
            let n_labels = it.report.timing.n_labels as f64;
            Terms::Interval(n_labels, it.report.elapsed.as_secs_f64())
        })
        .higher_is_better()
    }

    /// Percentage of time spent loading batches while no update is computed.
    pub(crate) fn waiting() -> Self {
        Self::percentage(WAITING, |it| {
            let waited = it.report.timing.waited.as_secs_f64();
            Terms::Interval(100.0 * waited, it.report.elapsed.as_secs_f64())
        })
    }

    /// Percentage of padding in the source and target tensors.
    pub(crate) fn padding() -> Self {
        Self::percentage(PADDING, |it| {
            let size = it.report.size;
            let n_padding = size.n_elements - size.n_src_tokens - size.n_labels;
            Terms::Batch(100.0 * n_padding as f64, size.n_elements as f64)
        })
    }

    /// Global norm of the gradients before clipping, averaged over updates; reports NaN and infinity.
    pub(crate) fn gradient_norm(on_non_finite: OnNonFinite) -> Self {
        Self::ratio(GRADIENT_NORM, |it| match it.report.gradient_norm {
            Some(norm) => Terms::Batch(norm, 1.0),
            None => Terms::Batch(0.0, 0.0),
        })
        .checked_by(on_non_finite)
    }

    /// The learning rate of the last update. Burn's own metric reports the mean over an interval, which is not the rate
    /// of any update.
    pub(crate) fn learning_rate() -> Self {
        Self::new(LEARNING_RATE, Total::LearningRate(f64::NAN))
    }

    /// Percentage of sentences with a translation that equals the reference exactly.
    pub(crate) fn exact_match() -> Self {
        Self::percentage(EXACT_MATCH, |it| {
            let translations = &it.translations;
            let n_exact = translations.n_exact as f64;
            Terms::Batch(100.0 * n_exact, translations.n_sentences as f64)
        })
        .higher_is_better()
    }

    pub(crate) fn bleu(metrics: TextMetrics) -> Self {
        Self::new(BLEU, Total::text(metrics, TextMetrics::bleu_score)).higher_is_better()
    }

    pub(crate) fn chrf(metrics: TextMetrics) -> Self {
        Self::new(CHRF, Total::text(metrics, TextMetrics::chrf_score)).higher_is_better()
    }

    /// The score that the user's command prints for all translations of an interval; NaN if the command failed.
    pub(crate) fn command(scorer: ExternalScorer, on_error: OnScoreError) -> Self {
        let total = Total::Command {
            scorer,
            on_error,
            texts: Vec::new(),
            score: None,
        };
        Self::new(COMMAND, total).higher_is_better()
    }

    /// Returns the metric of one of several corpora, with the number of its training corpus in its name.
    pub(crate) fn of_corpus(&self, index: usize, number: usize) -> Self {
        Self {
            name: Arc::new(of_corpus(&self.name, number)),
            only: Some(index),
            ..self.clone()
        }
    }

    /// Returns the mean over corpora. For one corpus it is the metric itself.
    pub(crate) fn over_corpora(self, n_corpora: usize) -> Self {
        Self {
            totals: vec![self.totals[0].clone(); n_corpora.max(1)],
            ..self
        }
    }

    fn ratio(name: &str, terms: fn(&BatchMetrics) -> Terms) -> Self {
        Self::new(name, Total::ratio(terms, |ratio| ratio))
    }

    fn percentage(name: &str, terms: fn(&BatchMetrics) -> Terms) -> Self {
        Self {
            unit: Some("%"),
            ..Self::ratio(name, terms)
        }
    }

    fn higher_is_better(self) -> Self {
        Self {
            higher_is_better: true,
            ..self
        }
    }

    fn checked_by(self, on_non_finite: OnNonFinite) -> Self {
        Self {
            on_non_finite: Some(on_non_finite),
            ..self
        }
    }

    fn new(name: &str, total: Total) -> Self {
        Self {
            name: Arc::new(name.to_owned()),
            unit: None,
            higher_is_better: false,
            totals: vec![total],
            mean: |values| values.iter().sum::<f64>() / values.len() as f64,
            only: None,
            on_non_finite: None,
        }
    }

    fn current(&self) -> f64 {
        (self.mean)(&self.totals.iter().map(Total::value).collect::<Vec<_>>())
    }

    fn entry(&self) -> SerializedEntry {
        let Self { name, totals, .. } = self;
        let (value, unit) = (self.current(), self.unit.unwrap_or_default());
        let formatted = match totals.as_slice() {
            [total] => total.formatted(value),
            _ => format!("{value:.3}"),
        };
        SerializedEntry::new(format!("{name}: {formatted}{unit}"), value.to_string())
    }
}

impl Metric for IntervalMetric {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes {
            unit: self.unit.map(str::to_owned),
            higher_is_better: self.higher_is_better,
        }
        .into()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        if self.only.is_none_or(|only| only == batch.report.corpus) {
            let index = if self.totals.len() == 1 {
                0
            } else {
                batch.report.corpus
            };
            let unusable = self.totals[index].add(batch, metadata);
            if let (Some(on_non_finite), Some(value)) = (&self.on_non_finite, unusable) {
                on_non_finite(batch.report.update, value);
            }
        }
        Ok(self.entry())
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        self.totals.iter_mut().for_each(Total::finish);
        Ok(self.entry())
    }

    fn clear(&mut self) {
        self.totals.iter_mut().for_each(Total::clear);
    }
}

impl Numeric for IntervalMetric {
    fn value(&self) -> Option<NumericEntry> {
        match self.totals.as_slice() {
            [total] if self.only.is_none() => total.last().map(NumericEntry::Value),
            _ => self.running_value(),
        }
    }

    /// Returns the mean over the corpora that have a value so far.
    fn running_value(&self) -> Option<NumericEntry> {
        let values: Vec<f64> = self.totals.iter().filter_map(Total::running).collect();
        (!values.is_empty()).then(|| NumericEntry::Value((self.mean)(&values)))
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.current())
    }
}
