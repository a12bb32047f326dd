//! [`Metric`]: the interface of all metrics, and the counts that their scores are made of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// A metric with a score that is a function of sums over the sentences of a text.
///
/// The score of any selection of sentences needs only the sums of their counts, which makes resampling fast.
pub trait Metric: fmt::Debug {
    /// Returns sacreBLEU's name of the metric.
    fn name(&self) -> String;

    /// Returns sacreBLEU's signature: all settings needed to reproduce the score.
    fn signature(&self, n_references: usize) -> String;

    /// Returns the counts of one sentence; their number is the same for all sentences.
    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// Returns the score of a text, given the sums of the counts of its sentences; without sentences, there are none.
    fn score_of(&self, sums: &[f64]) -> f64;

    /// Returns the line that sacreBLEU prints after the equals sign, with `digits` decimals.
    fn describe(&self, sums: &[f64], digits: usize) -> String {
        format!("{:.digits$}", self.score_of(sums))
    }
}

pub(super) fn corpus_sums<H, R>(
    metric: &dyn Metric,
    pairs: impl IntoIterator<Item = (H, R)>,
) -> Vec<f64>
where
    H: AsRef<str>,
    R: IntoIterator<Item: AsRef<str>>,
{
    let mut sums = Vec::new();
    for (hypothesis, references) in pairs {
        let references: Vec<_> = references.into_iter().collect();
        let references: Vec<&str> = references.iter().map(AsRef::as_ref).collect();
        add_counts(&mut sums, &metric.counts(hypothesis.as_ref(), &references));
    }
    sums
}

/// The counts of every sentence of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorpusCounts {
    /// A row for each sentence.
    rows: Vec<Vec<f64>>,
}

impl CorpusCounts {
    /// Counts each sentence of a text, given as pairs of a hypothesis and its references.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_metrics::{Bleu, CorpusCounts, Metric};
    ///
    /// let bleu = Bleu::default();
    /// let pairs = [("The cat sat.", vec!["The cat sat."]), ("A dog!", vec!["The dog!"])];
    /// let counts = CorpusCounts::new(&bleu, pairs);
    /// assert_eq!(format!("{:.2}", bleu.score_of(&counts.sums())), "82.23");
    /// ```
    pub fn new<'a>(
        metric: &dyn Metric,
        pairs: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>,
    ) -> Self {
        let mut counts = Self::default();
        for (hypothesis, references) in pairs {
            counts.push(metric, hypothesis, &references);
        }
        counts
    }

    /// Counts one more sentence.
    pub fn push(&mut self, metric: &dyn Metric, hypothesis: &str, references: &[&str]) {
        self.rows.push(metric.counts(hypothesis, references));
    }

    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the text has no sentences.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the sums of the counts over the whole text.
    pub fn sums(&self) -> Vec<f64> {
        self.sums_of(0..self.len())
    }

    /// Returns the sums of the counts over these sentences; a sentence that occurs twice is added twice.
    pub fn sums_of(&self, sentences: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut sums = Vec::new();
        for sentence in sentences {
            add_counts(&mut sums, &self.rows[sentence]);
        }
        sums
    }

    /// Returns the counts of one sentence.
    pub fn row(&self, sentence: usize) -> &[f64] {
        &self.rows[sentence]
    }
}

/// Adds the counts of a sentence, or sums of counts, to sums, which are empty before the first.
pub fn add_counts(sums: &mut Vec<f64>, counts: &[f64]) {
    sums.resize(counts.len().max(sums.len()), 0.0);
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// The treatment of upper and lower case by a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Upper and lower case differ.
    #[default]
    Mixed,
    /// Both sides are converted to lower case first.
    Lower,
}

impl Case {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Lower => "lc",
        }
    }

    pub(super) fn apply(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Mixed => Cow::Borrowed(line),
            Self::Lower => Cow::Owned(line.to_lowercase()),
        }
    }
}

/// The version of sacreBLEU that the metrics reproduce, as named in their signatures.
pub const SACREBLEU_VERSION: &str = "2.5.1";

/// The number of occurrences of each n-gram of one order in a sequence.
pub(super) type NgramCounts<'a, T> = HashMap<&'a [T], usize>;

pub(super) fn count_ngrams<T: Eq + Hash>(sequence: &[T], order: usize) -> NgramCounts<'_, T> {
    let mut counts = HashMap::new();
    for ngram in sequence.windows(order) {
        *counts.entry(ngram).or_insert(0) += 1;
    }
    counts
}

/// Returns the number of n-grams common to two sequences; each counts as often as it occurs in both.
pub(super) fn n_matches<T: Eq + Hash>(
    one: &NgramCounts<'_, T>,
    other: &NgramCounts<'_, T>,
) -> usize {
    let common = |(ngram, &n): (&&[T], &usize)| n.min(other.get(*ngram).copied().unwrap_or(0));
    one.iter().map(common).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ngram_matches_as_often_as_it_occurs_in_both() {
        let [one, other] = [["a", "b", "a", "a"], ["a", "a", "c", "b"]];
        assert_eq!(
            n_matches(&count_ngrams(&one, 1), &count_ngrams(&other, 1)),
            3
        );
        assert_eq!(
            n_matches(&count_ngrams(&one, 2), &count_ngrams(&other, 2)),
            1
        );
    }

    #[test]
    fn a_sequence_shorter_than_the_order_has_no_ngram() {
        assert!(count_ngrams(&["a"], 2).is_empty());
    }
}
