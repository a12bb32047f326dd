//! [`Tokenization`]: the words of a line for BLEU.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// A way to split a line into words, with sacreBLEU's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Tokenization {
    /// The rules of `mteval-v13a.pl`, used by WMT: ASCII punctuation is separate, except within numbers.
    #[default]
    #[serde(rename = "13a")]
    V13a,
    /// The rules of `mteval-v14.pl`: punctuation and symbols of all scripts are separate.
    Intl,
    /// Chinese characters, symbols and punctuation are words, and the rest is split as by `13a`, but nothing is
    /// unescaped.
    Zh,
    /// Every character is a word.
    Char,
    /// The line is split at white space only.
    None,
}

pub(super) type Rule = (Regex, &'static str);

// The order matters: each rule applies to the result of the previous one.
pub(super) static V13A: LazyLock<[Rule; 4]> = LazyLock::new(|| {
    [
        // ASCII punctuation, except apostrophe, comma, hyphen and period.
        rule(
            r"([\x20-\x26\x28-\x2B\x2F\x3A-\x40\x5B-\x60\x7B-\x7E])",
            " ${1} ",
        ),
        rule(r"([^0-9])([.,])", "${1} ${2} "),
        rule(r"([.,])([^0-9])", " ${1} ${2}"),
        rule(r"([0-9])(-)", "${1} ${2} "),
    ]
});

static INTL: LazyLock<[Rule; 3]> = LazyLock::new(|| {
    [
        rule(r"(\P{N})(\p{P})", "${1} ${2} "),
        rule(r"(\p{P})(\P{N})", " ${1} ${2}"),
        rule(r"(\p{S})", " ${1} "),
    ]
});

/// The characters that are words of their own in `zh`: Chinese, and the punctuation and symbols beside it. sacreBLEU
/// writes two of its ranges, those of rare characters beyond U+FFFF, with four digits and a fifth character, so that it
/// compares with other characters: U+2001 to U+2A6D and U+2F81 to U+2FA1. All its scores are made that way.
const CHINESE: [RangeInclusive<char>; 13] = [
    '\u{2001}'..='\u{2a6d}',
    '\u{2e80}'..='\u{2fdf}',
    '\u{2ff0}'..='\u{303f}',
    '\u{3100}'..='\u{312f}',
    '\u{31a0}'..='\u{31ef}',
    '\u{3200}'..='\u{4db5}',
    '\u{4e00}'..='\u{9fbb}',
    '\u{f900}'..='\u{fa2d}',
    '\u{fa30}'..='\u{fa6a}',
    '\u{fa70}'..='\u{fad9}',
    '\u{fe10}'..='\u{fe1f}',
    '\u{fe30}'..='\u{fe4f}',
    '\u{ff00}'..='\u{ffef}',
];

fn rule(expression: &str, replacement: &'static str) -> Rule {
    (pattern(expression), replacement)
}

pub(super) fn pattern(expression: &str) -> Regex {
    Regex::new(expression).expect("the patterns are constants that tests compile")
}

impl Tokenization {
    /// All tokenizations.
    pub const ALL: [Self; 5] = [Self::V13a, Self::Intl, Self::Zh, Self::Char, Self::None];

    /// Returns the name in sacreBLEU's options and signatures.
    pub fn name(self) -> &'static str {
        match self {
            Self::V13a => "13a",
            Self::Intl => "intl",
            Self::Zh => "zh",
            Self::Char => "char",
            Self::None => "none",
        }
    }

    /// Splits a line into words.
    pub fn words(self, line: &str) -> Vec<String> {
        let line = line.trim_end_matches(is_python_space);
        let owned = |line: &str| split_at_spaces(line).map(str::to_owned).collect();
        match self {
            Self::V13a => owned(&apply(&*V13A, format!(" {} ", unescape(line)))),
            Self::Intl => owned(&apply(&*INTL, line.to_owned())),
            Self::Zh => owned(&apply(&*V13A, with_chinese_apart(line))),
            Self::Char => {
                let characters = line.chars().filter(|it| !is_python_space(*it));
                characters.map(String::from).collect()
            }
            Self::None => owned(line),
        }
    }
}

/// Puts spaces around the characters that are words of their own in Chinese text.
fn with_chinese_apart(line: &str) -> String {
    let is_word = |character: char| CHINESE.iter().any(|range| range.contains(&character));
    let mut apart = String::with_capacity(2 * line.len());
    for character in line.trim_start_matches(is_python_space).chars() {
        match is_word(character) {
            true => apart.extend([' ', character, ' ']),
            false => apart.push(character),
        }
    }
    apart
}

pub(super) fn apply(rules: &[Rule], line: String) -> String {
    rules.iter().fold(line, |line, (pattern, replacement)| {
        pattern.replace_all(&line, *replacement).into_owned()
    })
}

/// Undoes the escapes of SGML, the former format of WMT's references.
fn unescape(line: &str) -> String {
    let line = line.replace("<skipped>", "").replace("-\n", "");
    unescape_marks(&line.replace('\n', " "))
}

pub(super) fn unescape_marks(line: &str) -> String {
    line.replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
}

/// Returns whether Python's `str.split()` splits at this character.
pub fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Splits a line at white space, as `line.split()` does.
pub(super) fn split_at_spaces(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_python_space).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_points_and_words_lose_them() {
        assert_eq!(
            Tokenization::V13a.words("It costs 1,000.50 (not 7)."),
            ["It", "costs", "1,000.50", "(", "not", "7", ")", "."]
        );
    }

    #[test]
    fn quotes_of_all_scripts_are_separate_in_intl_only() {
        assert_eq!(
            Tokenization::Intl.words("„Ja“ 5€"),
            ["„", "Ja", "“", "5", "€"]
        );
        assert_eq!(Tokenization::V13a.words("„Ja“ 5€"), ["„Ja“", "5€"]);
    }

    #[test]
    fn characters_are_words_but_not_spaces() {
        assert_eq!(Tokenization::Char.words("a bä "), ["a", "b", "ä"]);
    }

    #[test]
    fn chinese_characters_are_words_and_other_words_stay_whole() {
        assert_eq!(
            Tokenization::Zh.words("他有3.5元，yes."),
            ["他", "有", "3.5", "元", "，", "yes", "."]
        );
    }

    #[test]
    fn escaped_characters_are_read_once() {
        assert_eq!(Tokenization::V13a.words("&amp;lt;"), ["<"]);
    }
}

#[cfg(test)]
mod python_tests {
    use super::*;

    #[test]
    fn file_separators_and_no_break_spaces_are_white_space() {
        let words: Vec<&str> = split_at_spaces(" a\u{1c}b\u{a0}\u{3000}c\u{200b}d ").collect();
        assert_eq!(words, ["a", "b", "c\u{200b}d"]);
    }
}
