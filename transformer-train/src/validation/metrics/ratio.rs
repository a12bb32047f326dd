//! Metrics that are the ratio of two sums over an interval.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::batch_metrics::{BatchMetrics, TranslationCounts};
use super::names::{EXACT_MATCH, GRADIENT_NORM, LOSS, PADDING, PERPLEXITY, SPEED, WAITING};

/// Called with the update and the value of a metric that is NaN or infinite.
pub(crate) type OnNonFinite = Arc<dyn Fn(u64, f64) + Send + Sync>;

/// A metric that divides one sum over the batches of an interval by another, so that every batch counts in proportion
/// to its size.
#[derive(Clone)]
pub(crate) struct Ratio {
    name: Arc<String>,
    unit: Option<&'static str>,
    higher_is_better: bool,
    terms: fn(&BatchMetrics) -> Terms,
    /// Applied to the ratio.
    transform: fn(f64) -> f64,
    /// Value of the last batch.
    last: f64,
    total: Terms,
    on_non_finite: Option<OnNonFinite>,
}

/// Numerator and denominator of a ratio.
#[derive(Clone, Copy, Debug)]
enum Terms {
    /// Sums of one batch; they are added to those of earlier batches.
    Batch(f64, f64),
    /// Of the whole interval so far; they replace those before.
    Interval(f64, f64),
}

impl Ratio {
    /// Label-smoothed cross-entropy per token, in nats; reports NaN and infinity.
    pub(crate) fn loss(on_non_finite: OnNonFinite) -> Self {
        Self {
            on_non_finite: Some(on_non_finite),
            ..Self::new(LOSS, |it| {
                Terms::Batch(it.smoothed, it.size.n_labels as f64)
            })
        }
    }

    /// Perplexity: `exp` of the negative log-likelihood per token, without label smoothing.
    pub(crate) fn perplexity() -> Self {
        let terms = |it: &BatchMetrics| Terms::Batch(it.nll, it.size.n_labels as f64);
        Self {
            transform: f64::exp,
            ..Self::new(PERPLEXITY, terms)
        }
    }

    /// Target tokens trained per second, without padding.
    pub(crate) fn speed() -> Self {
        let terms = |it: &BatchMetrics| {
            Terms::Interval(it.timing.n_labels as f64, it.elapsed.as_secs_f64())
        };
        Self {
            higher_is_better: true,
            ..Self::new(SPEED, terms)
        }
    }

    /// Percentage of time spent loading batches while no update is computed.
    pub(crate) fn waiting() -> Self {
        let terms = |it: &BatchMetrics| {
            let waited = it.timing.waited.as_secs_f64();
            Terms::Interval(100.0 * waited, it.elapsed.as_secs_f64())
        };
        Self {
            unit: Some("%"),
            ..Self::new(WAITING, terms)
        }
    }

    /// Percentage of padding in the source and target tensors.
    pub(crate) fn padding() -> Self {
        let terms = |it: &BatchMetrics| {
            let n_tokens = it.size.n_src_tokens + it.size.n_labels;
            Terms::Batch(
                100.0 * (it.size.n_elements - n_tokens) as f64,
                it.size.n_elements as f64,
            )
        };
        Self {
            unit: Some("%"),
            ..Self::new(PADDING, terms)
        }
    }

    /// Global norm of the gradients before clipping, averaged over updates; reports NaN and
    /// infinity.
    pub(crate) fn gradient_norm(on_non_finite: OnNonFinite) -> Self {
        Self {
            on_non_finite: Some(on_non_finite),
            ..Self::new(GRADIENT_NORM, |it| match it.gradient_norm {
                Some(norm) => Terms::Batch(norm, 1.0),
                None => Terms::Batch(0.0, 0.0),
            })
        }
    }

    /// Percentage of sentences with a translation that equals the reference exactly.
    pub(crate) fn exact_match() -> Self {
        let terms = |it: &BatchMetrics| {
            let TranslationCounts {
                n_sentences,
                n_exact,
                ..
            } = &it.translations;
            Terms::Batch(100.0 * *n_exact as f64, *n_sentences as f64)
        };
        Self {
            unit: Some("%"),
            higher_is_better: true,
            ..Self::new(EXACT_MATCH, terms)
        }
    }

    fn new(name: &str, terms: fn(&BatchMetrics) -> Terms) -> Self {
        Self {
            name: Arc::new(name.to_owned()),
            unit: None,
            higher_is_better: false,
            terms,
            transform: |ratio| ratio,
            last: f64::NAN,
            total: Terms::Batch(0.0, 0.0),
            on_non_finite: None,
        }
    }

    fn value_of(&self, terms: Terms) -> f64 {
        let (Terms::Batch(numerator, denominator) | Terms::Interval(numerator, denominator)) =
            terms;
        (self.transform)(numerator / denominator)
    }

    fn entry(&self, value: f64) -> SerializedEntry {
        let unit = self.unit.unwrap_or_default();
        let formatted = if value >= 1000.0 {
            format!("{}: {value:.0}{unit}", self.name)
        } else {
            format!("{}: {value:.3}{unit}", self.name)
        };
        SerializedEntry::new(formatted, value.to_string())
    }
}

impl Metric for Ratio {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        let unit = self.unit.map(str::to_owned);
        NumericAttributes {
            unit,
            higher_is_better: self.higher_is_better,
        }
        .into()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let terms = (self.terms)(batch);
        self.last = self.value_of(terms);
        self.total = match (self.total, terms) {
            (Terms::Batch(a, b), Terms::Batch(c, d)) => Terms::Batch(a + c, b + d),
            (_, latest) => latest,
        };
        let is_known = !matches!(terms, Terms::Batch(_, n) if n == 0.0);
        if let Some(on_non_finite) = &self.on_non_finite
            && is_known
            && !self.last.is_finite()
        {
            on_non_finite(batch.update, self.last);
        }
        Ok(self.entry(self.value_of(self.total)))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.entry(self.value_of(self.total)))
    }

    fn clear(&mut self) {
        self.total = Terms::Batch(0.0, 0.0);
    }
}

impl Numeric for Ratio {
    fn value(&self) -> Option<NumericEntry> {
        self.last
            .is_finite()
            .then_some(NumericEntry::Value(self.last))
    }

    fn running_value(&self) -> Option<NumericEntry> {
        let value = self.value_of(self.total);
        value.is_finite().then_some(NumericEntry::Value(value))
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.value_of(self.total))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use burn::data::dataloader::Progress;

    use super::*;
    use crate::batching::BatchSize;

    fn metadata() -> MetricMetadata {
        MetricMetadata {
            progress: Progress::new(1, 1, None),
            iteration: Some(1),
            lr: None,
        }
    }

    fn batch(nll: f64, n_labels: usize) -> BatchMetrics {
        let size = BatchSize {
            n_labels,
            ..BatchSize::default()
        };
        BatchMetrics {
            nll,
            smoothed: nll,
            size,
            ..BatchMetrics::default()
        }
    }

    fn update(metric: &mut Ratio, batch: &BatchMetrics) {
        let updated = metric.update(batch, &metadata());
        updated.expect("the metric reads no tensor");
    }

    /// Returns a callback that records the updates it is called with.
    fn recorder() -> (OnNonFinite, Arc<Mutex<Vec<u64>>>) {
        let updates = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&updates);
        let record = move |update, _| {
            let mut updates = updates.lock().unwrap_or_else(PoisonError::into_inner);
            updates.push(update);
        };
        (Arc::new(record), recorded)
    }

    #[test]
    fn a_batch_counts_in_proportion_to_its_tokens() {
        let mut perplexity = Ratio::perplexity();
        for batch in [batch(3.0, 1), batch(1.0, 3)] {
            update(&mut perplexity, &batch);
        }
        // Four nats over four tokens.
        assert!((perplexity.final_value().current() - std::f64::consts::E).abs() < 1e-12);
    }

    /// On several devices the norm may be known later than the losses.
    #[test]
    fn an_unknown_norm_is_neither_averaged_nor_reported() {
        let (on_non_finite, reported) = recorder();
        let mut norm = Ratio::gradient_norm(on_non_finite);
        for (number, gradient_norm) in [
            (1, Some(2.0)),
            (2, None),
            (3, Some(4.0)),
            (4, Some(f64::NAN)),
        ] {
            let batch = BatchMetrics {
                update: number,
                gradient_norm,
                ..batch(1.0, 2)
            };
            update(&mut norm, &batch);
            if number == 3 {
                assert_eq!(norm.final_value().current(), 3.0);
            }
        }
        let reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*reported, [4]);
    }

    #[test]
    fn a_nan_loss_is_reported_with_its_update() {
        let (on_non_finite, reported) = recorder();
        let mut loss = Ratio::loss(on_non_finite);
        let bad = BatchMetrics {
            update: 7,
            ..batch(f64::NAN, 2)
        };
        update(&mut loss, &bad);
        let reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*reported, [7]);
    }
}
