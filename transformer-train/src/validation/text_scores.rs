//! BLEU and chrF of translated validation pairs.

use transformer_metrics::{Bleu, Chrf, Metric, Orders, Tokenization, add_counts};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextMetrics {
    pub(crate) bleu: Bleu,
    pub(crate) chrf: Chrf,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TextCounts {
    bleu: Vec<f64>,
    chrf: Vec<f64>,
}

/// BLEU and chrF of translated validation pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct TextScores {
    /// Number of pairs translated.
    pub n_pairs: usize,
    /// BLEU, from 0 to 100.
    pub bleu: f64,
    /// SacreBLEU's signature of the BLEU score, for reproducing it.
    pub bleu_signature: String,
    /// chrF2, from 0 to 100.
    pub chrf: f64,
    /// SacreBLEU's signature of the chrF score, for reproducing it.
    pub chrf_signature: String,
    /// The scores of each of several corpora, with the number of the training corpus, from 1; their mean is in the
    /// other fields. Empty for a single corpus.
    pub corpora: Vec<(usize, Self)>,
}

impl TextMetrics {
    /// Returns sacreBLEU's defaults with the given tokenization. Built-in tasks (`is_task`) use BLEU with effective
    /// order, because their sentences may be single words, without n-grams of higher orders.
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

    pub(crate) fn count<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> TextCounts {
        let mut counts = TextCounts::default();
        for (translation, reference) in pairs {
            counts.add(&TextCounts {
                bleu: self.bleu.counts(translation, &[reference]),
                chrf: self.chrf.counts(translation, &[reference]),
            });
        }
        counts
    }

    pub(crate) fn bleu_score(&self, counts: &TextCounts) -> f64 {
        self.bleu.score_of(&counts.bleu)
    }

    pub(crate) fn chrf_score(&self, counts: &TextCounts) -> f64 {
        self.chrf.score_of(&counts.chrf)
    }

    pub(crate) fn scores(&self, counts: &TextCounts, n_pairs: usize) -> TextScores {
        TextScores {
            n_pairs,
            bleu: self.bleu_score(counts),
            bleu_signature: self.bleu.signature(1),
            chrf: self.chrf_score(counts),
            chrf_signature: self.chrf.signature(1),
            corpora: Vec::new(),
        }
    }
}

impl TextScores {
    /// Returns the mean of the scores of corpora, each given with its number.
    pub(crate) fn mean(corpora: Vec<(usize, Self)>) -> Option<Self> {
        let (_, first) = corpora.first()?.clone();
        let n_corpora = corpora.len() as f64;
        let scores = || corpora.iter().map(|(_, it)| it);
        Some(Self {
            n_pairs: scores().map(|it| it.n_pairs).sum(),
            bleu: scores().map(|it| it.bleu).sum::<f64>() / n_corpora,
            chrf: scores().map(|it| it.chrf).sum::<f64>() / n_corpora,
            corpora,
            ..first
        })
    }
}

impl TextCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        add_counts(&mut self.bleu, &other.bleu);
        add_counts(&mut self.chrf, &other.chrf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bleu_uses_the_given_tokenization() {
        let pairs = [("eins, zwei, drei, vier", "eins , zwei , drei , vier")];
        let score = |tokenization| {
            let metrics = TextMetrics::new(false, tokenization);
            metrics.scores(&metrics.count(pairs), 1)
        };
        let (tokenized, raw) = (score(Tokenization::V13a), score(Tokenization::None));
        assert!((tokenized.bleu - 100.0).abs() < 1e-9);
        assert!(raw.bleu < 50.0, "{}", raw.bleu);
        assert!(raw.bleu_signature.contains("|tok:none|"));
    }

    #[test]
    fn single_words_of_a_task_can_reach_the_full_score() {
        let metrics = TextMetrics::new(true, Tokenization::V13a);
        let scores = metrics.scores(&metrics.count([("1000007", "1000007")]), 1);
        // BLEU goes through logarithms, which round.
        assert!((scores.bleu - 100.0).abs() < 1e-9);
        assert_eq!(scores.chrf, 100.0);
        assert!(scores.bleu_signature.contains("|eff:yes|"));
    }
}
