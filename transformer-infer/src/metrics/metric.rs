//! What all scores here have in common.

use std::fmt;
use std::iter::Sum;

/// Scores a text by counts of its sentences that add up.
///
/// The score of any selection of sentences is therefore a sum of rows away, which is what resampling needs.
pub trait Metric: fmt::Debug {
    /// Returns the name, as sacreBLEU has it.
    fn name(&self) -> String;

    /// Returns what must be known to get the same score elsewhere, in sacreBLEU's words.
    fn signature(&self, n_references: usize) -> String;

    /// Counts what the score of one sentence is made of: always as many numbers.
    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// Returns the score that sums of counts stand for.
    fn score_of(&self, sums: &[f64]) -> f64;

    /// Returns the whole line that sacreBLEU prints behind the equals sign, with so many digits.
    fn describe(&self, sums: &[f64], digits: usize) -> String {
        format!("{:.digits$}", self.score_of(sums))
    }
}

/// Sums what `statistics` counts in every sentence of a text: pairs of a hypothesis and its references.
pub(super) fn corpus_sum<H: AsRef<str>, R, S: Sum>(
    pairs: impl IntoIterator<Item = (H, R)>,
    statistics: impl Fn(&str, R) -> S,
) -> S {
    let pairs = pairs.into_iter();
    pairs
        .map(|(hypothesis, references)| statistics(hypothesis.as_ref(), references))
        .sum()
}

/// Holds the counts of every sentence of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusCounts {
    /// A row for each sentence.
    rows: Vec<Vec<f64>>,
}

impl CorpusCounts {
    /// Counts each sentence of a text: pairs of a hypothesis and its references.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_infer::metrics::{Bleu, CorpusCounts, Metric};
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
        let rows = pairs
            .into_iter()
            .map(|(hypothesis, references)| metric.counts(hypothesis, &references));
        Self {
            rows: rows.collect(),
        }
    }

    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Says whether there is no sentence.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the counts of the whole text.
    pub fn sums(&self) -> Vec<f64> {
        self.sums_of(0..self.len())
    }

    /// Returns the counts of these sentences, each as often as it is named.
    pub(super) fn sums_of(&self, sentences: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let n_columns = self.rows.first().map_or(0, Vec::len);
        let mut sums = vec![0.0; n_columns];
        for sentence in sentences {
            add(&mut sums, &self.rows[sentence]);
        }
        sums
    }

    /// Returns the counts of one sentence.
    pub(super) fn row(&self, sentence: usize) -> &[f64] {
        &self.rows[sentence]
    }
}

/// Adds a row to sums.
pub(super) fn add(sums: &mut [f64], row: &[f64]) {
    for (sum, count) in sums.iter_mut().zip(row) {
        *sum += count;
    }
}
