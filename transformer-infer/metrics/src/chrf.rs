//! chrF and chrF++ (Popović 2015 and 2017, <https://aclanthology.org/W15-3049/>).

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::iter::Sum;
use std::ops::Add;

use super::metric::{Metric, corpus_sum};
use super::{Case, SACREBLEU_VERSION, ngrams, python};

/// The metric chrF with its settings. The default is sacreBLEU's chrF2: characters up to order 6, no words.
///
/// # Example
///
/// ```
/// use transformer_metrics::Chrf;
///
/// let score = Chrf::default().corpus_score([("The cat sat.", ["The cat sat."])]);
/// assert_eq!(score.to_string(), "100.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chrf {
    /// Length of the longest n-grams of characters. Default 6.
    pub char_order: usize,
    /// Length of the longest n-grams of words. Default 0; chrF++ uses 2.
    pub word_order: usize,
    /// Weight β of recall relative to precision. Default 2.
    pub beta: usize,
    /// Treatment of upper and lower case. Default: they differ.
    pub case: Case,
}

/// The counts that chrF is computed from; the counts of a text are the sum over its sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChrfStatistics {
    orders: Vec<OrderStatistics>,
}

/// The counts of n-grams of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OrderStatistics {
    n_hyp: usize,
    n_ref: usize,
    n_matches: usize,
}

/// A chrF score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChrfScore {
    /// The score, from 0 to 100.
    pub score: f64,
}

impl Default for Chrf {
    fn default() -> Self {
        Self {
            char_order: 6,
            word_order: 0,
            beta: 2,
            case: Case::Mixed,
        }
    }
}

impl Add for ChrfStatistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (mut sum, shorter) = if self.orders.len() >= other.orders.len() {
            (self, other)
        } else {
            (other, self)
        };
        for (order, other) in sum.orders.iter_mut().zip(shorter.orders) {
            order.n_hyp += other.n_hyp;
            order.n_ref += other.n_ref;
            order.n_matches += other.n_matches;
        }
        sum
    }
}

impl Sum for ChrfStatistics {
    fn sum<I: Iterator<Item = Self>>(statistics: I) -> Self {
        statistics.fold(Self::default(), Self::add)
    }
}

impl ChrfStatistics {
    /// Returns the numbers of n-grams in the hypothesis, in the reference and in both, order by order.
    fn into_counts(self) -> Vec<usize> {
        let orders = self.orders.into_iter();
        orders
            .flat_map(|order| [order.n_hyp, order.n_ref, order.n_matches])
            .collect()
    }

    /// Converts the result of [`into_counts`](Self::into_counts) back.
    fn from_counts(counts: &[usize]) -> Self {
        let orders = counts.chunks_exact(3).map(|order| OrderStatistics {
            n_hyp: order[0],
            n_ref: order[1],
            n_matches: order[2],
        });
        Self {
            orders: orders.collect(),
        }
    }
}

impl Chrf {
    /// Returns chrF++, which also uses words up to order 2.
    pub fn plus_plus() -> Self {
        Self {
            word_order: 2,
            ..Self::default()
        }
    }

    /// Returns the score of a text, given as pairs of a hypothesis and its references.
    pub fn corpus_score<H, R>(&self, pairs: impl IntoIterator<Item = (H, R)>) -> ChrfScore
    where
        H: AsRef<str>,
        R: IntoIterator<Item: AsRef<str>>,
    {
        self.score(&corpus_sum(pairs, |hypothesis, references| {
            self.statistics(hypothesis, references)
        }))
    }

    /// Counts the n-grams of one sentence and of the reference that gives the best score.
    pub fn statistics<R: AsRef<str>>(
        &self,
        hypothesis: &str,
        references: impl IntoIterator<Item = R>,
    ) -> ChrfStatistics {
        let hypothesis = self.case.apply(hypothesis);
        let mut best = ChrfStatistics::default();
        let mut best_score = -1.0;
        for reference in references {
            let reference = self.case.apply(reference.as_ref());
            let statistics = self.pair_statistics(&hypothesis, &reference);
            let ChrfScore { score } = self.score(&statistics);
            if score > best_score {
                (best, best_score) = (statistics, score);
            }
        }
        best
    }

    /// Returns for each candidate the mean of its scores with all candidates as references, in percent: its expected
    /// score, if each candidate is as likely to be the right one. Candidates that occur twice count twice.
    ///
    /// Minimum Bayes risk decoding chooses the candidate with the highest one: Eikema and Aziz, "Sampling-Based
    /// Approximations to Minimum Bayes Risk Decoding", Eq. 5: <https://arxiv.org/abs/2108.04718>.
    pub fn expected_scores<S: AsRef<str>>(&self, candidates: &[S]) -> Vec<f64> {
        let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
        for candidate in candidates {
            *weights.entry(candidate.as_ref()).or_default() += 1.0 / candidates.len() as f64;
        }
        let expected = |candidate: &str| {
            let score = |reference: &str| self.corpus_score([(candidate, [reference])]).score;
            weights
                .iter()
                .map(|(reference, weight)| weight * score(reference))
                .sum()
        };
        let scores: BTreeMap<&str, f64> = weights.keys().map(|it| (*it, expected(it))).collect();
        candidates.iter().map(|it| scores[it.as_ref()]).collect()
    }

    fn pair_statistics(&self, hypothesis: &str, reference: &str) -> ChrfStatistics {
        let characters = |line: &str| python::split(line).flat_map(str::chars).collect::<Vec<_>>();
        let mut orders = Vec::new();
        let (hyp_chars, ref_chars) = (characters(hypothesis), characters(reference));
        for order in 1..=self.char_order {
            orders.push(OrderStatistics::of(&hyp_chars, &ref_chars, order));
        }
        let (hyp_words, ref_words) = (words(hypothesis), words(reference));
        for order in 1..=self.word_order {
            orders.push(OrderStatistics::of(&hyp_words, &ref_words, order));
        }
        ChrfStatistics { orders }
    }

    /// Computes the score from the counts of a text: the F-score of mean precision and mean recall over the orders that
    /// both sides are long enough for.
    pub fn score(&self, statistics: &ChrfStatistics) -> ChrfScore {
        let orders = statistics.orders.iter();
        let counted = orders.filter(|order| order.n_hyp > 0 && order.n_ref > 0);
        let (mut precision, mut recall, mut n_orders) = (0.0, 0.0, 0.0);
        for order in counted {
            precision += order.n_matches as f64 / order.n_hyp as f64;
            recall += order.n_matches as f64 / order.n_ref as f64;
            n_orders += 1.0;
        }
        if precision + recall == 0.0 {
            return ChrfScore { score: 0.0 };
        }
        precision /= n_orders;
        recall /= n_orders;
        let factor = (self.beta * self.beta) as f64;
        let score = (1.0 + factor) * precision * recall / (factor * precision + recall);
        ChrfScore {
            score: 100.0 * score,
        }
    }

    /// Returns the name: `chrF2`, `chrF2++`.
    pub fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    /// Returns sacreBLEU's signature: all settings needed to reproduce the score.
    pub fn signature(&self, n_references: usize) -> String {
        let case = self.case.name();
        let (char_order, word_order) = (self.char_order, self.word_order);
        format!(
            "nrefs:{n_references}|case:{case}|eff:yes|nc:{char_order}|nw:{word_order}|space:no|\
             version:{SACREBLEU_VERSION}"
        )
    }
}

impl OrderStatistics {
    fn of<T: Eq + Hash>(hypothesis: &[T], reference: &[T], order: usize) -> Self {
        let hypothesis = ngrams::count(hypothesis, order);
        let reference = ngrams::count(reference, order);
        let n_ref = reference.values().sum();
        Self {
            // An order that the reference is too short for does not lower the precision.
            n_hyp: if n_ref == 0 {
                0
            } else {
                hypothesis.values().sum()
            },
            n_ref,
            n_matches: ngrams::n_matches(&hypothesis, &reference),
        }
    }
}

/// Splits a line at white space, and one ASCII punctuation mark from each word: its last character if that is one,
/// otherwise its first character.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in python::split(line) {
        let mut characters = word.char_indices();
        let (Some((_, first)), Some((last_at, last))) = (characters.next(), characters.next_back())
        else {
            words.push(word);
            continue;
        };
        if last.is_ascii_punctuation() {
            words.extend([&word[..last_at], &word[last_at..]]);
        } else if first.is_ascii_punctuation() {
            words.extend([&word[..1], &word[1..]]);
        } else {
            words.push(word);
        }
    }
    words
}

impl fmt::Display for ChrfScore {
    /// Writes the score, by default with one decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        write!(f, "{:.digits$}", self.score)
    }
}

impl Metric for Chrf {
    fn name(&self) -> String {
        Self::name(self)
    }

    fn signature(&self, n_references: usize) -> String {
        Self::signature(self, n_references)
    }

    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let counts = self.statistics(hypothesis, references).into_counts();
        let n_columns = 3 * (self.char_order + self.word_order);
        let mut counts: Vec<f64> = counts.into_iter().map(|count| count as f64).collect();
        counts.resize(n_columns, 0.0); // a sentence without references has none
        counts
    }

    fn score_of(&self, sums: &[f64]) -> f64 {
        let counts = sums.iter().map(|sum| *sum as usize).collect::<Vec<_>>();
        self.score(&ChrfStatistics::from_counts(&counts)).score
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_punctuation_mark_is_split_from_each_word() {
        assert_eq!(
            words("(hi) 'a b. ! ü!"),
            ["(hi", ")", "'", "a", "b", ".", "!", "ü", "!"]
        );
    }

    #[test]
    fn the_score_is_the_f2_score_of_precision_and_recall() {
        let chrf = Chrf {
            char_order: 1,
            ..Chrf::default()
        };
        // Precision 1/2, recall 1: 5·0.5·1 / (4·0.5 + 1).
        let score = chrf.corpus_score([("ab", ["a"])]).score;
        assert!((score - 100.0 * 2.5 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_candidate_that_is_like_the_others_has_the_highest_expected_score() {
        let scores =
            Chrf::default().expected_scores(&["a cat sat", "a cat sits", "dogs", "a cat sat"]);
        let pair = |a: &str, b: &str| Chrf::default().corpus_score([(a, [b])]).score;
        let expected =
            (2.0 * 100.0 + pair("a cat sat", "a cat sits") + pair("a cat sat", "dogs")) / 4.0;
        assert!((scores[0] - expected).abs() < 1e-9 && scores[3] == scores[0]);
        assert!(scores[0] > scores[1] && scores[1] > scores[2]);
    }

    #[test]
    fn the_best_reference_is_used() {
        let score = Chrf::default().corpus_score([("abc", ["xyz", "abc"])]);
        assert_eq!(score.score, 100.0);
    }
}
