//! Scores by the length of the reference, and by the frequency of words in training text, as compare-mt has them
//! ([Neubig et al. 2019](https://arxiv.org/abs/1903.07926)).

use std::collections::HashMap;

use serde::Serialize;
use transformer_infer::metrics::{CorpusCounts, Metric, Tokenization};

/// The lengths of references, in words, at which buckets begin.
const LENGTHS: [usize; 6] = [10, 20, 30, 40, 50, 60];

/// The frequencies at which buckets begin.
const FREQUENCIES: [usize; 8] = [1, 2, 3, 4, 5, 10, 100, 1000];

/// A table of scores: a row for each bucket that is not empty, a column for each system.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct BucketTable {
    pub(super) title: String,
    pub(super) rows: Vec<BucketRow>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct BucketRow {
    /// The range: `<10`, `4`, `[10,20)`, `>=60`.
    pub(super) bucket: String,
    /// The number of sentences, or of words of the references.
    pub(super) n: usize,
    pub(super) scores: Vec<f64>,
}

/// Returns a table of each metric by the length of the first reference. `counts` are those of every sentence, by metric and
/// system, and `lengths` those of the references, in words.
pub(super) fn tables_by_length(
    metrics: &[Box<dyn Metric>],
    counts: &[Vec<CorpusCounts>],
    lengths: &[usize],
) -> Vec<BucketTable> {
    let mut buckets = vec![Vec::new(); LENGTHS.len() + 1];
    for (sentence, length) in lengths.iter().enumerate() {
        buckets[bucket_of(&LENGTHS, *length)].push(sentence);
    }
    let tables = metrics.iter().zip(counts).map(|(metric, systems)| {
        let buckets = buckets.iter().enumerate();
        let buckets = buckets.filter(|(_, sentences)| !sentences.is_empty());
        let rows = buckets.map(|(bucket, sentences)| {
            let sums = |it: &CorpusCounts| it.sums_of(sentences.iter().copied());
            let scores = systems.iter().map(|it| metric.score_of(&sums(it)));
            BucketRow {
                bucket: name_of(&LENGTHS, bucket),
                n: sentences.len(),
                scores: scores.collect(),
            }
        });
        BucketTable {
            title: format!("{} by words of the reference", metric.name()),
            rows: rows.collect(),
        }
    });
    tables.collect()
}

/// Words of several systems, sorted into buckets by their frequency in training text.
pub(super) struct ByFrequency {
    frequencies: HashMap<String, usize>,
    n_reference: [usize; FREQUENCIES.len() + 1],
    /// For each system and bucket, its words, and those of them that the reference has as well.
    of_systems: Vec<[[usize; 2]; FREQUENCIES.len() + 1]>,
}

impl ByFrequency {
    pub(super) fn new(n_systems: usize) -> Self {
        Self {
            frequencies: HashMap::new(),
            n_reference: Default::default(),
            of_systems: vec![Default::default(); n_systems],
        }
    }

    pub(super) fn count(&mut self, line: &str) {
        for word in Tokenization::V13a.words(line) {
            *self.frequencies.entry(word).or_default() += 1;
        }
    }

    pub(super) fn push(&mut self, hypotheses: &[String], reference: &str) {
        let mut in_reference: HashMap<String, usize> = HashMap::new();
        for word in Tokenization::V13a.words(reference) {
            self.n_reference[self.bucket(&word)] += 1;
            *in_reference.entry(word).or_default() += 1;
        }
        for (system, hypothesis) in hypotheses.iter().enumerate() {
            let mut left = in_reference.clone();
            for word in Tokenization::V13a.words(hypothesis) {
                let bucket = self.bucket(&word);
                let [n_words, n_matches] = &mut self.of_systems[system][bucket];
                *n_words += 1;
                if let Some(n) = left.get_mut(&word).filter(|n| **n > 0) {
                    *n -= 1;
                    *n_matches += 1;
                }
            }
        }
    }

    fn bucket(&self, word: &str) -> usize {
        bucket_of(
            &FREQUENCIES,
            self.frequencies.get(word).copied().unwrap_or(0),
        )
    }

    /// Returns the harmonic mean of precision and recall, in percent.
    pub(super) fn table(&self) -> BucketTable {
        let rows = self.n_reference.iter().enumerate().map(|(bucket, &n)| {
            let score = |buckets: &[[usize; 2]; FREQUENCIES.len() + 1]| {
                let [n_words, n_matches] = buckets[bucket];
                200.0 * n_matches as f64 / (n_words + n).max(1) as f64
            };
            BucketRow {
                bucket: name_of(&FREQUENCIES, bucket),
                n,
                scores: self.of_systems.iter().map(score).collect(),
            }
        });
        BucketTable {
            title: "F1 of words by their frequency in the training text".to_owned(),
            rows: rows.filter(|row| row.n > 0).collect(),
        }
    }
}

fn bucket_of(starts: &[usize], number: usize) -> usize {
    starts.partition_point(|start| *start <= number)
}

fn name_of(starts: &[usize], bucket: usize) -> String {
    match (
        bucket.checked_sub(1).map(|it| starts[it]),
        starts.get(bucket),
    ) {
        (None, Some(end)) => format!("<{end}"),
        (Some(start), Some(end)) if start + 1 == *end => start.to_string(),
        (Some(start), Some(end)) => format!("[{start},{end})"),
        (start, None) => format!(">={}", start.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// The tables of compare-mt and scores of sacreBLEU, from `tests/fixtures/buckets.py`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Golden {
        train: Vec<String>,
        references: Vec<String>,
        systems: Vec<Vec<String>>,
        lengths: Vec<(String, usize, Vec<f64>)>,
        frequencies: Vec<(String, usize, Vec<f64>)>,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../tests/fixtures/buckets.json"))
            .expect("the generator writes the fields above")
    }

    fn assert_rows(found: &BucketTable, expected: &[(String, usize, Vec<f64>)]) {
        let buckets: Vec<_> = found.rows.iter().map(|it| (&it.bucket, it.n)).collect();
        let known: Vec<_> = expected.iter().map(|(bucket, n, _)| (bucket, *n)).collect();
        assert_eq!(buckets, known);
        for (row, (bucket, _, scores)) in found.rows.iter().zip(expected) {
            for (found, known) in row.scores.iter().zip(scores) {
                assert!((found - known).abs() < 1e-6, "{bucket}: {found} {known}");
            }
        }
    }

    #[test]
    fn words_have_the_f1_of_compare_mt_by_frequency() {
        let golden = golden();
        let mut by_frequency = ByFrequency::new(golden.systems.len());
        for line in &golden.train {
            by_frequency.count(line);
        }
        for (index, reference) in golden.references.iter().enumerate() {
            let hypotheses: Vec<String> =
                golden.systems.iter().map(|it| it[index].clone()).collect();
            by_frequency.push(&hypotheses, reference);
        }
        assert_rows(&by_frequency.table(), &golden.frequencies);
    }

    #[test]
    fn sentences_have_the_bleu_of_their_length() {
        let golden = golden();
        let bleu = transformer_infer::metrics::Bleu::default();
        let counts = golden.systems.iter().map(|system| {
            let references = golden.references.iter().map(|it| vec![it.as_str()]);
            CorpusCounts::new(&bleu, system.iter().map(String::as_str).zip(references))
        });
        let lengths = golden.references.iter();
        let lengths: Vec<usize> = lengths.map(|it| it.split_whitespace().count()).collect();
        let tables = tables_by_length(&[Box::new(bleu)], &[counts.collect()], &lengths);
        assert_rows(&tables[0], &golden.lengths);
    }
}
