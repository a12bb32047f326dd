//! The words of a line for TER: the rules of tercom's `Normalizer.java`, as in sacreBLEU.

use std::sync::LazyLock;

use regex::Regex;

use super::python;
use super::tokenization::{V13A, apply, pattern, unescape_marks};

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

/// Punctuation of Chinese and Japanese, and full-width marks.
static ASIAN_MARKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"([\u{3001}\u{3002}\u{3008}-\u{3011}\u{3014}-\u{301f}\u{ff61}-\u{ff65}\u{30fb}",
        r"\u{ff0e}\u{ff0c}\u{ff1f}\u{ff1a}\u{ff1b}\u{ff01}\u{ff02}\u{ff08}\u{ff09}])",
    ))
});

/// Splits a line into words. The case was applied before.
pub(super) fn words(
    line: &str,
    normalization: Normalization,
    punctuation: Punctuation,
    scripts: Scripts,
) -> Vec<String> {
    let mut line = line.trim_end_matches(python::is_space).to_owned();
    if line.is_empty() {
        return Vec::new();
    }
    if normalization == Normalization::Tercom {
        line = normalize(&line);
        if scripts == Scripts::Asian {
            line = IDEOGRAPHS.replace_all(&line, " ${1} ").into_owned();
            line = ASIAN_MARKS.replace_all(&line, " ${1} ").into_owned();
        }
    }
    if punctuation == Punctuation::Drop {
        line = line.replace(['.', ',', '?', ':', ';', '!', '"', '(', ')'], "");
        if scripts == Scripts::Asian {
            line = ASIAN_MARKS.replace_all(&line, "").into_owned();
        }
    }
    python::split(&line).map(str::to_owned).collect()
}

/// Separates punctuation as 13a does, and the possessive `'s` as well.
fn normalize(line: &str) -> String {
    let line = line.replace("\n-", "").replace('\n', " ");
    let marks = apply(&V13A[..1], format!(" {} ", unescape_marks(&line)));
    apply(&V13A[1..], marks.replace("'s ", " 's "))
}
