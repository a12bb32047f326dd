//! TER, the translation edit rate (Snover et al. 2006, <https://aclanthology.org/2006.amta-papers.25/>).

use std::sync::LazyLock;

use regex::Regex;

use super::metric::{Metric, corpus_sums};
use super::tokenization::{V13A, apply, is_python_space, pattern, split_at_spaces, unescape_marks};
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

    /// Splits a line into words: the rules of tercom's `Normalizer.java`, as in sacreBLEU.
    fn words(&self, line: &str) -> Vec<String> {
        let line = self.case.apply(line);
        let mut line = line.trim_end_matches(is_python_space).to_owned();
        if line.is_empty() {
            return Vec::new();
        }
        if self.normalization == Normalization::Tercom {
            line = normalize(&line);
            if self.scripts == Scripts::Asian {
                line = IDEOGRAPHS.replace_all(&line, " ${1} ").into_owned();
                line = ASIAN_MARKS.replace_all(&line, " ${1} ").into_owned();
            }
        }
        if self.punctuation == Punctuation::Drop {
            line = line.replace(['.', ',', '?', ':', ';', '!', '"', '(', ')'], "");
            if self.scripts == Scripts::Asian {
                line = ASIAN_MARKS.replace_all(&line, "").into_owned();
            }
        }
        split_at_spaces(&line).map(str::to_owned).collect()
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

    /// Returns the edits to the reference that needs the fewest, and the mean length of the references, in words.
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

/// TER's normalization of a line before it is split at spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalization {
    /// Not at all.
    #[default]
    None,
    /// Punctuation becomes separate words, as with 13a for BLEU.
    Tercom,
}

/// TER's treatment of punctuation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Punctuation {
    /// Punctuation is kept.
    #[default]
    Keep,
    /// Punctuation is removed.
    Drop,
}

/// The scripts with punctuation that TER recognizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scripts {
    /// Western ones.
    #[default]
    Western,
    /// Chinese and Japanese as well; normalization makes each of their characters a word.
    Asian,
}

/// Chinese and Japanese characters that are words by themselves. sacreBLEU's range `\u3200-\u3f22` is copied
/// unchanged. Its rules for kana between other characters never match, because they require the beginning of the
/// line, which is a space by then.
static IDEOGRAPHS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"([\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{31c0}-\u{31ef}\u{2e80}-\u{2eff}\u{3300}-\u{33ff}",
        r"\u{f900}-\u{faff}\u{fe30}-\u{fe4f}\u{3200}-\u{3f22}])",
    ))
});

static ASIAN_MARKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"([\u{3001}\u{3002}\u{3008}-\u{3011}\u{3014}-\u{301f}\u{ff61}-\u{ff65}\u{30fb}",
        r"\u{ff0e}\u{ff0c}\u{ff1f}\u{ff1a}\u{ff1b}\u{ff01}\u{ff02}\u{ff08}\u{ff09}])",
    ))
});

/// Separates punctuation as 13a does, and the possessive `'s` as well.
fn normalize(line: &str) -> String {
    let line = line.replace("\n-", "").replace('\n', " ");
    let marks = apply(&V13A[..1], format!(" {} ", unescape_marks(&line)));
    apply(&V13A[1..], marks.replace("'s ", " 's "))
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
