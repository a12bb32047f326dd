//! BLEU and chrF of translated validation pairs, at every validation and at the end.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};
use transformer_infer::metrics::{
    Bleu, BleuStatistics, Chrf, ChrfStatistics, Orders, Tokenization,
};

use crate::validation::{BLEU, CHRF, Numbers};

/// Says how translations are scored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextMetrics {
    pub(crate) bleu: Bleu,
    pub(crate) chrf: Chrf,
}

/// Counts what the scores are made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextCounts {
    bleu: BleuStatistics,
    chrf: ChrfStatistics,
}

/// Says what translations of validation pairs are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct TextScores {
    /// Pairs translated.
    pub n_pairs: usize,
    /// BLEU, from 0 to 100.
    pub bleu: f64,
    /// What must be known to get the same BLEU elsewhere, in sacreBLEU's words.
    pub bleu_signature: String,
    /// chrF2, from 0 to 100.
    pub chrf: f64,
    /// What must be known to get the same chrF elsewhere, in sacreBLEU's words.
    pub chrf_signature: String,
}

impl TextMetrics {
    /// Returns sacreBLEU's defaults for text, with lines cut as is asked for. Sentences of built-in tasks may be single
    /// words, which have no n-grams of higher orders: there BLEU is of the orders that they have.
    pub(crate) fn new(is_task: bool, tokenization: Tokenization) -> Self {
        let orders = if is_task {
            Orders::Effective
        } else {
            Orders::All
        };
        Self {
            bleu: Bleu {
                tokenization,
                orders,
                ..Bleu::default()
            },
            chrf: Chrf::default(),
        }
    }

    /// Counts n-grams of translations beside their references.
    pub(crate) fn count<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> TextCounts {
        let mut counts = TextCounts::default();
        for (translation, reference) in pairs {
            counts.add(TextCounts {
                bleu: self.bleu.statistics(translation, [reference]),
                chrf: self.chrf.statistics(translation, [reference]),
            });
        }
        counts
    }

    /// Returns the scores that counts stand for.
    pub(crate) fn scores(&self, counts: &TextCounts, n_pairs: usize) -> TextScores {
        TextScores {
            n_pairs,
            bleu: self.bleu.score(&counts.bleu).score,
            bleu_signature: self.bleu.signature(1),
            chrf: self.chrf.score(&counts.chrf).score,
            chrf_signature: self.chrf.signature(1),
        }
    }
}

impl TextCounts {
    /// Adds the counts of other sentences.
    pub(crate) fn add(&mut self, other: Self) {
        self.bleu = self.bleu + other.bleu;
        self.chrf = std::mem::take(&mut self.chrf) + other.chrf;
    }
}

/// Shows one score of the translations of an interval.
#[derive(Clone)]
pub(crate) struct TextScore {
    name: Arc<String>,
    metrics: TextMetrics,
    score: fn(&TextMetrics, &TextCounts) -> f64,
    counts: TextCounts,
    n_sentences: usize,
}

impl TextScore {
    pub(crate) fn bleu(metrics: TextMetrics) -> Self {
        let score =
            |metrics: &TextMetrics, counts: &TextCounts| metrics.bleu.score(&counts.bleu).score;
        Self::new(BLEU, metrics, score)
    }

    pub(crate) fn chrf(metrics: TextMetrics) -> Self {
        let score =
            |metrics: &TextMetrics, counts: &TextCounts| metrics.chrf.score(&counts.chrf).score;
        Self::new(CHRF, metrics, score)
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

impl Metric for TextScore {
    type Input = Numbers;

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
        numbers: &Numbers,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let translated = numbers.translated();
        self.counts.add(translated.text.clone());
        self.n_sentences += translated.n_sentences;
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

impl Numeric for TextScore {
    /// The score of all sentences so far: that of a batch is of no interest.
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

    use super::*;
    use crate::validation::Translated;

    #[test]
    fn the_score_of_an_interval_is_that_of_its_text_and_not_the_mean_of_its_batches() {
        let metrics = TextMetrics::new(false, Tokenization::V13a);
        let pairs = [
            ("a dog ran home today .", "a dog ran home ."),
            ("the cat sat on a mat .", "the cat sat on the mat ."),
            ("x", "y z"),
        ];
        let mut metric = TextScore::bleu(metrics);
        let metadata = MetricMetadata {
            progress: Progress::new(1, 1, None),
            iteration: Some(1),
            lr: None,
        };
        for batch in pairs.chunks(2) {
            let translated = Translated {
                n_sentences: batch.len(),
                n_exact: 0,
                text: metrics.count(batch.iter().copied()),
            };
            let numbers = Numbers::of_translations(translated);
            let updated = metric.update(&numbers, &metadata);
            assert!(updated.is_ok());
        }
        let expected =
            Bleu::default().corpus_score(pairs.map(|(translation, it)| (translation, [it])));
        assert!(expected.score > 1.0);
        assert!((metric.final_value().current() - expected.score).abs() < 1e-12);
    }

    #[test]
    fn lines_are_cut_as_is_asked_for() {
        let pairs = [("eins, zwei, drei, vier", "eins , zwei , drei , vier")];
        let score = |tokenization| {
            let metrics = TextMetrics::new(false, tokenization);
            metrics.scores(&metrics.count(pairs), 1)
        };
        let (cut, whole) = (score(Tokenization::V13a), score(Tokenization::None));
        assert!((cut.bleu - 100.0).abs() < 1e-9);
        assert!(whole.bleu < 50.0, "{}", whole.bleu);
        assert!(whole.bleu_signature.contains("|tok:none|"));
    }

    #[test]
    fn a_task_of_single_words_can_reach_the_full_score() {
        let metrics = TextMetrics::new(true, Tokenization::V13a);
        let scores = metrics.scores(&metrics.count([("1000007", "1000007")]), 1);
        // The logarithms of BLEU round.
        assert!((scores.bleu - 100.0).abs() < 1e-9);
        assert_eq!(scores.chrf, 100.0);
        assert!(scores.bleu_signature.contains("|eff:yes|"));
    }
}
