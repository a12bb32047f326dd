//! Metrics of several validation corpora: of each one, and their mean.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericEntry, SerializedEntry,
};

use super::batch_metrics::BatchMetrics;
use super::names::of_corpus;

/// A metric of one of several corpora; batches of the others do not count.
#[derive(Clone)]
pub(crate) struct OfCorpus<M> {
    name: Arc<String>,
    /// Index of the corpus among the validated ones.
    index: usize,
    metric: M,
}

/// The mean of a metric over corpora, so that each counts the same regardless of size. For one corpus it is the metric
/// itself.
#[derive(Clone)]
pub(crate) struct MeanOfCorpora<M> {
    of_corpora: Vec<M>,
    mean: fn(&[f64]) -> f64,
}

impl<M: Metric<Input = BatchMetrics>> OfCorpus<M> {
    /// Creates the metric. `number` is the number of the training corpus, used in the metric's name.
    pub(crate) fn new(metric: M, index: usize, number: usize) -> Self {
        Self {
            name: Arc::new(of_corpus(&metric.name(), number)),
            index,
            metric,
        }
    }
}

impl<M: Clone> MeanOfCorpora<M> {
    /// Takes the arithmetic mean, for `n_corpora` corpora.
    pub(crate) fn arithmetic(metric: M, n_corpora: usize) -> Self {
        Self {
            of_corpora: vec![metric; n_corpora.max(1)],
            mean: |values| values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// Takes the geometric mean: for perplexities, which are exponentials of losses.
    pub(crate) fn geometric(metric: M, n_corpora: usize) -> Self {
        Self {
            mean: geometric_mean,
            ..Self::arithmetic(metric, n_corpora)
        }
    }
}

/// Returns the exponential of the mean logarithm.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    match values {
        [value] => *value,
        _ => (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(),
    }
}

impl<M: Metric<Input = BatchMetrics> + Numeric> Metric for OfCorpus<M> {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        self.metric.attributes()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        match batch.corpus == self.index {
            true => self.metric.update(batch, metadata),
            false => self.metric.compute(),
        }
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        self.metric.compute()
    }

    fn clear(&mut self) {
        self.metric.clear();
    }
}

impl<M: Numeric> Numeric for OfCorpus<M> {
    fn value(&self) -> Option<NumericEntry> {
        self.metric.running_value()
    }

    fn running_value(&self) -> Option<NumericEntry> {
        self.metric.running_value()
    }

    fn final_value(&self) -> NumericEntry {
        self.metric.final_value()
    }
}

impl<M: Numeric> MeanOfCorpora<M> {
    fn final_mean(&self) -> f64 {
        let values = self.of_corpora.iter().map(|it| it.final_value().current());
        (self.mean)(&values.collect::<Vec<_>>())
    }
}

impl<M: Metric<Input = BatchMetrics> + Numeric> MeanOfCorpora<M> {
    fn entry(&self) -> SerializedEntry {
        let mean = self.final_mean();
        SerializedEntry::new(format!("{}: {mean:.3}", self.name()), mean.to_string())
    }
}

impl<M: Metric<Input = BatchMetrics> + Numeric> Metric for MeanOfCorpora<M> {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        self.of_corpora[0].name()
    }

    fn attributes(&self) -> MetricAttributes {
        self.of_corpora[0].attributes()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let entry = self.of_corpora[batch.corpus].update(batch, metadata)?;
        Ok(match self.of_corpora.len() {
            1 => entry,
            _ => self.entry(),
        })
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        match self.of_corpora.as_mut_slice() {
            [metric] => metric.compute(),
            _ => Ok(self.entry()),
        }
    }

    fn clear(&mut self) {
        self.of_corpora.iter_mut().for_each(Metric::clear);
    }
}

impl<M: Numeric> Numeric for MeanOfCorpora<M> {
    fn value(&self) -> Option<NumericEntry> {
        match self.of_corpora.as_slice() {
            [metric] => metric.value(),
            _ => self.running_value(),
        }
    }

    /// Returns the mean over the corpora that have a value so far.
    fn running_value(&self) -> Option<NumericEntry> {
        let values = self.of_corpora.iter().filter_map(Numeric::running_value);
        let values: Vec<f64> = values.map(|value| value.current()).collect();
        (!values.is_empty()).then(|| NumericEntry::Value((self.mean)(&values)))
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.final_mean())
    }
}

#[cfg(test)]
mod tests {
    use burn::data::dataloader::Progress;

    use super::*;
    use crate::batching::BatchSize;
    use crate::validation::metrics::Ratio;

    fn update(metric: &mut impl Metric<Input = BatchMetrics>, corpus: usize, nll: f64, n: usize) {
        let metadata = MetricMetadata {
            progress: Progress::new(1, 1, None),
            iteration: Some(1),
            lr: None,
        };
        let size = BatchSize {
            n_labels: n,
            ..BatchSize::default()
        };
        let batch = BatchMetrics {
            corpus,
            nll,
            size,
            ..BatchMetrics::default()
        };
        let updated = metric.update(&batch, &metadata);
        updated.expect("the metric reads no tensor");
    }

    /// Batches of two corpora: 4 nats over 8 tokens, and 6 over 4.
    fn update_all(metric: &mut impl Metric<Input = BatchMetrics>) {
        for (corpus, nll, n) in [(0, 1.0, 5), (1, 6.0, 4), (0, 3.0, 3)] {
            update(metric, corpus, nll, n);
        }
    }

    #[test]
    fn a_small_corpus_counts_in_the_mean_as_much_as_a_large_one() {
        let mut mean = MeanOfCorpora::geometric(Ratio::perplexity(), 2);
        update_all(&mut mean);
        // The mean of 0.5 and 1.5 nats.
        assert!((mean.final_value().current() - std::f64::consts::E).abs() < 1e-12);
        mean.clear();
        assert!(mean.final_value().current().is_nan());
    }

    #[test]
    fn a_metric_of_a_corpus_ignores_the_others_and_has_its_number_in_its_name() {
        let mut second = OfCorpus::new(Ratio::perplexity(), 1, 3);
        update_all(&mut second);
        assert_eq!(*second.name(), "Perplexity corpus 3");
        assert!((second.final_value().current() - 1.5_f64.exp()).abs() < 1e-12);
    }

    #[test]
    fn the_mean_of_one_corpus_is_the_metric() {
        let (mut mean, mut metric) = (
            MeanOfCorpora::geometric(Ratio::perplexity(), 1),
            Ratio::perplexity(),
        );
        update(&mut mean, 0, 1.0, 3);
        update(&mut metric, 0, 1.0, 3);
        assert_eq!(mean.final_value().current(), metric.final_value().current());
    }
}
