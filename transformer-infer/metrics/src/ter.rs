//! TER, the translation edit rate (Snover et al. 2006, <https://aclanthology.org/2006.amta-papers.25/>).

use super::metric::{Metric, corpus_sums};
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
/// assert_eq!(format!("{score:.1}"), "33.3");
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

impl Ter {
    /// Returns the score of a text, given as pairs of a hypothesis and its references.
    pub fn corpus_score<H, R>(&self, pairs: impl IntoIterator<Item = (H, R)>) -> f64
    where
        H: AsRef<str>,
        R: IntoIterator<Item: AsRef<str>>,
    {
        self.score_of(&corpus_sums(self, pairs))
    }

    fn words(&self, line: &str) -> Vec<String> {
        let line = self.case.apply(line);
        ter_words::words(&line, self.normalization, self.punctuation, self.scripts)
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".to_owned()
    }

    fn signature(&self, n_references: usize) -> String {
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

    /// Returns the number of edits to the reference that needs the fewest, and the mean length of the references, in
    /// words.
    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.words(hypothesis);
        let hypothesis: Vec<&str> = hypothesis.iter().map(String::as_str).collect();
        let mut n_edits = usize::MAX;
        let mut n_words = 0;
        for reference in references {
            let reference = self.words(reference);
            let reference: Vec<&str> = reference.iter().map(String::as_str).collect();
            n_edits = n_edits.min(edit_rate::n_edits(&hypothesis, &reference));
            n_words += reference.len();
        }
        match references.len() {
            0 => vec![hypothesis.len() as f64, 0.0],
            n_references => vec![n_edits as f64, n_words as f64 / n_references as f64],
        }
    }

    fn score_of(&self, sums: &[f64]) -> f64 {
        let sum = |column: usize| sums.get(column).copied().unwrap_or(0.0);
        let (n_edits, ref_len) = (sum(0), sum(1));
        let rate = match ref_len {
            _ if ref_len > 0.0 => n_edits / ref_len,
            _ if n_edits == 0.0 => 0.0,
            _ => 1.0, // every word is an edit
        };
        100.0 * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_reference_gives_the_edits_and_all_references_the_mean_length() {
        let counts = Ter::default().counts("a b c", &["x y", "a b c d e"]);
        assert_eq!(counts, [2.0, 3.5]);
    }

    #[test]
    fn every_word_beside_an_empty_reference_is_an_edit() {
        assert_eq!(Ter::default().corpus_score([("a b", [""])]), 100.0);
        assert_eq!(Ter::default().corpus_score([("", [""])]), 0.0);
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
