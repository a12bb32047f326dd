//! chrF and chrF++ (Popović 2015 and 2017, <https://aclanthology.org/W15-3049/>).

use std::collections::BTreeMap;
use std::hash::Hash;

use super::metric::{Metric, NgramCounts, corpus_sums, count_ngrams, n_matches};
use super::tokenization::split_at_spaces;
use super::{Case, SACREBLEU_VERSION};

/// The metric chrF with its settings. The default is sacreBLEU's chrF2: characters up to order 6, no words.
///
/// # Example
///
/// ```
/// use transformer_metrics::Chrf;
///
/// let score = Chrf::default().corpus_score([("The cat sat.", ["The cat sat."])]);
/// assert_eq!(score, 100.0);
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

impl Chrf {
    /// Returns chrF++, which also uses words up to order 2.
    pub fn plus_plus() -> Self {
        Self {
            word_order: 2,
            ..Self::default()
        }
    }

    /// Returns the score of a text, from 0 to 100, given as pairs of a hypothesis and its references.
    pub fn corpus_score<H, R>(&self, pairs: impl IntoIterator<Item = (H, R)>) -> f64
    where
        H: AsRef<str>,
        R: IntoIterator<Item: AsRef<str>>,
    {
        self.score_of(&corpus_sums(self, pairs))
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
        let lines: Vec<_> = weights.keys().map(|it| self.case.apply(it)).collect();
        let units: Vec<Units<'_>> = lines.iter().map(|it| Units::of(it)).collect();
        let grams: Vec<Grams<'_>> = units.iter().map(|it| self.grams(it)).collect();
        let expected = |candidate: &Grams<'_>| -> f64 {
            let references = grams.iter().zip(weights.values());
            let scores =
                references.map(|(it, weight)| weight * self.score_of(&candidate.counts(it)));
            scores.sum()
        };
        let scores = weights.keys().copied().zip(grams.iter().map(expected));
        let scores: BTreeMap<&str, f64> = scores.collect();
        candidates.iter().map(|it| scores[it.as_ref()]).collect()
    }

    fn grams<'u>(&self, units: &'u Units<'u>) -> Grams<'u> {
        let of_chars = (1..=self.char_order).map(|order| count_ngrams(&units.chars, order));
        let of_words = (1..=self.word_order).map(|order| count_ngrams(&units.words, order));
        Grams {
            chars: of_chars.collect(),
            words: of_words.collect(),
        }
    }
}

struct Units<'l> {
    chars: Vec<char>,
    words: Vec<&'l str>,
}

impl<'l> Units<'l> {
    fn of(line: &'l str) -> Self {
        Self {
            chars: split_at_spaces(line).flat_map(str::chars).collect(),
            words: words(line),
        }
    }
}

struct Grams<'u> {
    chars: Vec<NgramCounts<'u, char>>,
    words: Vec<NgramCounts<'u, &'u str>>,
}

impl Grams<'_> {
    /// Returns for each order the numbers of n-grams in this line, in the reference and in both.
    fn counts(&self, reference: &Self) -> Vec<f64> {
        let chars = self.chars.iter().zip(&reference.chars);
        let words = self.words.iter().zip(&reference.words);
        let chars = chars.map(|(hypothesis, reference)| order_counts(hypothesis, reference));
        let words = words.map(|(hypothesis, reference)| order_counts(hypothesis, reference));
        let counts = chars.chain(words).flatten();
        counts.map(|count| count as f64).collect()
    }
}

/// Returns the numbers of n-grams of one order in the hypothesis, in the reference and in both.
fn order_counts<T: Eq + Hash>(
    hypothesis: &NgramCounts<'_, T>,
    reference: &NgramCounts<'_, T>,
) -> [usize; 3] {
    let n_ref = reference.values().sum();
    // An order that the reference is too short for does not lower the precision.
    let n_hyp = if n_ref == 0 {
        0
    } else {
        hypothesis.values().sum()
    };
    [n_hyp, n_ref, n_matches(hypothesis, reference)]
}

/// Splits a line at white space, and the last or else the first character from each word if it is ASCII punctuation.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in split_at_spaces(line) {
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

impl Metric for Chrf {
    /// Returns the name: `chrF2`, `chrF2++`.
    fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    fn signature(&self, n_references: usize) -> String {
        let case = self.case.name();
        let (char_order, word_order) = (self.char_order, self.word_order);
        format!(
            "nrefs:{n_references}|case:{case}|eff:yes|nc:{char_order}|nw:{word_order}|space:no|\
             version:{SACREBLEU_VERSION}"
        )
    }

    /// Returns for each order the numbers of n-grams in the hypothesis, in the reference with the best score, and in both.
    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.case.apply(hypothesis);
        let hypothesis = Units::of(&hypothesis);
        let hypothesis = self.grams(&hypothesis);
        // A sentence without references has no n-grams.
        let mut best = vec![0.0; 3 * (self.char_order + self.word_order)];
        let mut best_score = -1.0;
        for reference in references {
            let reference = self.case.apply(reference);
            let reference = Units::of(&reference);
            let counts = hypothesis.counts(&self.grams(&reference));
            let score = self.score_of(&counts);
            if score > best_score {
                (best, best_score) = (counts, score);
            }
        }
        best
    }

    /// Computes the F-score of mean precision and mean recall over the orders that both sides are long enough for.
    fn score_of(&self, sums: &[f64]) -> f64 {
        let (mut precision, mut recall, mut n_orders) = (0.0, 0.0, 0.0);
        for [n_hyp, n_ref, n_matches] in sums.as_chunks().0 {
            if *n_hyp > 0.0 && *n_ref > 0.0 {
                precision += n_matches / n_hyp;
                recall += n_matches / n_ref;
                n_orders += 1.0;
            }
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        precision /= n_orders;
        recall /= n_orders;
        let factor = (self.beta * self.beta) as f64;
        100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))
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
        let score = chrf.corpus_score([("ab", ["a"])]);
        assert!((score - 100.0 * 2.5 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_candidate_that_is_like_the_others_has_the_highest_expected_score() {
        let scores =
            Chrf::default().expected_scores(&["a cat sat", "a cat sits", "dogs", "a cat sat"]);
        let pair = |a: &str, b: &str| Chrf::default().corpus_score([(a, [b])]);
        let expected =
            (2.0 * 100.0 + pair("a cat sat", "a cat sits") + pair("a cat sat", "dogs")) / 4.0;
        assert!((scores[0] - expected).abs() < 1e-9 && scores[3] == scores[0]);
        assert!(scores[0] > scores[1] && scores[1] > scores[2]);
    }

    #[test]
    fn the_best_reference_is_used() {
        let score = Chrf::default().corpus_score([("abc", ["xyz", "abc"])]);
        assert_eq!(score, 100.0);
    }
}
