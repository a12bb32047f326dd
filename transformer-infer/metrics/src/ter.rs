//! TER, the translation edit rate (Snover et al. 2006, <https://aclanthology.org/2006.amta-papers.25/>).

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use super::metric::{Metric, corpus_sum};
use super::ter_words::{self, Normalization, Punctuation, Scripts};
use super::{Case, SACREBLEU_VERSION, edit_rate};

/// The metric TER with its settings. The default is sacreBLEU's: words between spaces, in lower case.
///
/// TER is the number of edits that turn the translations into their references, per hundred words of the references;
/// lower is better. The search for shifts has the limits and preferences of tercom.
///
/// # Example
///
/// ```
/// use transformer_metrics::Ter;
///
/// // "on the mat" moves at one edit, and "a" becomes "the" at another, to six words.
/// let score = Ter::default().corpus_score([("on the mat a cat sat", ["the cat sat on the mat"])]);
/// assert_eq!(score.to_string(), "33.3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ter {
    /// Normalization of lines before they are split at spaces. Default: none.
    pub normalization: Normalization,
    /// Treatment of punctuation. Default: it is kept.
    pub punctuation: Punctuation,
    /// The scripts that the two settings above apply to. Default: Western ones.
    pub scripts: Scripts,
    /// Treatment of upper and lower case. Default: they are equal.
    pub case: Case,
}

/// The counts that TER is computed from; the counts of a text are the sum over its sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TerStatistics {
    /// Number of edits to the reference that needs the fewest.
    pub n_edits: usize,
    /// Mean length of the references, in words.
    pub ref_len: f64,
}

/// A TER score and its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerScore {
    /// Edits per hundred words of the references; lower is better.
    pub score: f64,
    /// Number of edits.
    pub n_edits: usize,
    /// Mean length of the references, in words.
    pub ref_len: f64,
}

impl Default for Ter {
    fn default() -> Self {
        Self {
            normalization: Normalization::None,
            punctuation: Punctuation::Keep,
            scripts: Scripts::Western,
            case: Case::Lower,
        }
    }
}

impl Add for TerStatistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            n_edits: self.n_edits + other.n_edits,
            ref_len: self.ref_len + other.ref_len,
        }
    }
}

impl Sum for TerStatistics {
    fn sum<I: Iterator<Item = Self>>(statistics: I) -> Self {
        statistics.fold(Self::default(), Self::add)
    }
}

impl Ter {
    /// Returns the score of a text, given as pairs of a hypothesis and its references.
    pub fn corpus_score<H, R>(&self, pairs: impl IntoIterator<Item = (H, R)>) -> TerScore
    where
        H: AsRef<str>,
        R: IntoIterator<Item: AsRef<str>>,
    {
        self.score(&corpus_sum(pairs, |hypothesis, references| {
            self.statistics(hypothesis, references)
        }))
    }

    /// Counts the edits of one sentence, to the reference that needs the fewest.
    pub fn statistics<R: AsRef<str>>(
        &self,
        hypothesis: &str,
        references: impl IntoIterator<Item = R>,
    ) -> TerStatistics {
        let hypothesis = self.words(hypothesis);
        let hypothesis: Vec<&str> = hypothesis.iter().map(String::as_str).collect();
        let mut n_edits = usize::MAX;
        let (mut n_references, mut n_words) = (0, 0);
        for reference in references {
            let reference = self.words(reference.as_ref());
            let reference: Vec<&str> = reference.iter().map(String::as_str).collect();
            n_edits = n_edits.min(edit_rate::n_edits(&hypothesis, &reference));
            n_words += reference.len();
            n_references += 1;
        }
        if n_references == 0 {
            return TerStatistics {
                n_edits: hypothesis.len(),
                ref_len: 0.0,
            };
        }
        TerStatistics {
            n_edits,
            ref_len: n_words as f64 / f64::from(n_references),
        }
    }

    /// Computes the score from the counts of a text.
    pub fn score(&self, statistics: &TerStatistics) -> TerScore {
        let TerStatistics { n_edits, ref_len } = *statistics;
        let rate = match n_edits {
            _ if ref_len > 0.0 => n_edits as f64 / ref_len,
            0 => 0.0,
            _ => 1.0, // every word is an edit
        };
        TerScore {
            score: 100.0 * rate,
            n_edits,
            ref_len,
        }
    }

    /// Returns sacreBLEU's signature: all settings needed to reproduce the score.
    pub fn signature(&self, n_references: usize) -> String {
        let yes = |is_set| if is_set { "yes" } else { "no" };
        let case = self.case.name();
        let norm = yes(self.normalization == Normalization::Tercom);
        let punct = yes(self.punctuation == Punctuation::Keep);
        let asian = yes(self.scripts == Scripts::Asian);
        format!(
            "nrefs:{n_references}|case:{case}|tok:tercom|norm:{norm}|punct:{punct}|asian:{asian}|\
             version:{SACREBLEU_VERSION}"
        )
    }

    fn words(&self, line: &str) -> Vec<String> {
        let line = self.case.apply(line);
        ter_words::words(&line, self.normalization, self.punctuation, self.scripts)
    }
}

impl fmt::Display for TerScore {
    /// Writes the score, by default with one decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        write!(f, "{:.digits$}", self.score)
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".to_owned()
    }

    fn signature(&self, n_references: usize) -> String {
        Self::signature(self, n_references)
    }

    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let TerStatistics { n_edits, ref_len } = self.statistics(hypothesis, references);
        vec![n_edits as f64, ref_len]
    }

    fn score_of(&self, sums: &[f64]) -> f64 {
        let sum = |column: usize| sums.get(column).copied().unwrap_or(0.0);
        let statistics = TerStatistics {
            n_edits: sum(0) as usize,
            ref_len: sum(1),
        };
        self.score(&statistics).score
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_reference_gives_the_edits_and_all_references_the_mean_length() {
        let statistics = Ter::default().statistics("a b c", ["x y", "a b c d e"]);
        assert_eq!((statistics.n_edits, statistics.ref_len), (2, 3.5));
    }

    #[test]
    fn every_word_beside_an_empty_reference_is_an_edit() {
        assert_eq!(Ter::default().corpus_score([("a b", [""])]).score, 100.0);
        assert_eq!(Ter::default().corpus_score([("", [""])]).score, 0.0);
    }

    #[test]
    fn ideographs_become_words_with_asian_support() {
        let ter = Ter {
            normalization: Normalization::Tercom,
            scripts: Scripts::Asian,
            ..Ter::default()
        };
        assert_eq!(ter.words("猫が好き。"), ["猫", "が", "好", "き", "。"]);
    }
}
