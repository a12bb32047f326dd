//! BLEU and chrF of an interval's translations, as metrics of the Learner.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::batch_metrics::BatchMetrics;
use super::names::{BLEU, CHRF};
use crate::validation::text_scores::{TextCounts, TextMetrics};

/// A corpus-level score of all translations of an interval.
#[derive(Clone)]
pub(crate) struct TextMetric {
    name: Arc<String>,
    metrics: TextMetrics,
    score: fn(&TextMetrics, &TextCounts) -> f64,
    counts: TextCounts,
    n_sentences: usize,
}

impl TextMetric {
    pub(crate) fn bleu(metrics: TextMetrics) -> Self {
        Self::new(BLEU, metrics, TextMetrics::bleu_score)
    }

    pub(crate) fn chrf(metrics: TextMetrics) -> Self {
        Self::new(CHRF, metrics, TextMetrics::chrf_score)
    }

    fn new(name: &str, metrics: TextMetrics, score: fn(&TextMetrics, &TextCounts) -> f64) -> Self {
        Self {
            name: Arc::new(name.to_owned()),
            metrics,
            score,
            counts: TextCounts::default(),
            n_sentences: 0,
        }
    }

    fn current(&self) -> f64 {
        (self.score)(&self.metrics, &self.counts)
    }

    fn entry(&self) -> SerializedEntry {
        let score = self.current();
        SerializedEntry::new(format!("{}: {score:.1}", self.name), score.to_string())
    }
}

impl Metric for TextMetric {
    type Input = BatchMetrics;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes {
            unit: None,
            higher_is_better: true,
        }
        .into()
    }

    fn update(
        &mut self,
        batch: &BatchMetrics,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        self.counts.add(batch.translations.text.clone());
        self.n_sentences += batch.translations.n_sentences;
        Ok(self.entry())
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.entry())
    }

    fn clear(&mut self) {
        self.counts = TextCounts::default();
        self.n_sentences = 0;
    }
}

impl Numeric for TextMetric {
    /// Returns the score of all sentences so far: the score of a single batch means little.
    fn value(&self) -> Option<NumericEntry> {
        self.running_value()
    }

    fn running_value(&self) -> Option<NumericEntry> {
        (self.n_sentences > 0).then(|| NumericEntry::Value(self.current()))
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.current())
    }
}

#[cfg(test)]
mod tests {
    use burn::data::dataloader::Progress;
    use transformer_metrics::{Bleu, Tokenization};

    use super::*;
    use crate::validation::metrics::TranslationCounts;

    #[test]
    fn the_score_of_an_interval_is_that_of_its_whole_text_not_the_mean_of_its_batches() {
        let metrics = TextMetrics::new(false, Tokenization::V13a);
        let pairs = [
            ("a dog ran home today .", "a dog ran home ."),
            ("the cat sat on a mat .", "the cat sat on the mat ."),
            ("x", "y z"),
        ];
        let mut metric = TextMetric::bleu(metrics);
        let metadata = MetricMetadata {
            progress: Progress::new(1, 1, None),
            iteration: Some(1),
            lr: None,
        };
        for pairs in pairs.chunks(2) {
            let batch = BatchMetrics {
                translations: TranslationCounts {
                    n_sentences: pairs.len(),
                    n_exact: 0,
                    text: metrics.count(pairs.iter().copied()),
                    texts: Vec::new(),
                },
                ..BatchMetrics::default()
            };
            let updated = metric.update(&batch, &metadata);
            assert!(updated.is_ok());
        }
        let expected =
            Bleu::default().corpus_score(pairs.map(|(translation, it)| (translation, [it])));
        assert!(expected.score > 1.0);
        assert!((metric.final_value().current() - expected.score).abs() < 1e-12);
    }
}
