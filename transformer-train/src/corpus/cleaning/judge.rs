//! [`Judge`]: finds the [`Defect`]s of pairs, given what is usual in their text.

use std::fmt;

use transformer_core::text::LanguageCode;
use transformer_core::text::language_codes::{three_letter_code, two_letter_code};
use transformer_protection::kept::{groups, with_joined_thousands};
use transformer_protection::protection::Item;
use transformer_protection::{Fault, Protection};
use whatlang::{Detector, Lang};

/// A reason to leave out a pair: its sides do not translate each other, or it says nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// A replacement character, a control character, or UTF-8 that was read as Latin-1.
    Damaged,
    Identical,
    /// Both sides are the same text of three words or more.
    Copy,
    Lengths,
    /// The letters are of a script that the language of the side does not use.
    Script,
    /// A side is in another language than most of the text.
    Language,
    /// A placeholder, a tag or an address is on one side only.
    Copied,
    /// Both sides have several numbers, and none in common.
    Numbers,
    /// One side repeats letters or words over and over.
    Repetition,
}

impl Defect {
    /// All defects, in the order of a report.
    pub(super) const ALL: [Self; 9] = [
        Self::Identical,
        Self::Copy,
        Self::Damaged,
        Self::Lengths,
        Self::Script,
        Self::Language,
        Self::Copied,
        Self::Numbers,
        Self::Repetition,
    ];

    /// Returns the name in the file of dropped pairs.
    pub(super) fn name(self) -> &'static str {
        self.names().0
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Identical => ("identical", "identical to another"),
            Self::Copy => ("copy", "with equal sides"),
            Self::Damaged => ("damaged", "with damaged characters"),
            Self::Lengths => ("lengths", "with sides of too different lengths"),
            Self::Script => ("script", "in another script"),
            Self::Language => ("language", "in another language"),
            Self::Copied => ("copied", "with other placeholders, tags or addresses"),
            Self::Numbers => ("numbers", "with different numbers"),
            Self::Repetition => ("repetition", "with a repetition"),
        }
    }
}

impl fmt::Display for Defect {
    /// Writes the description: `with different numbers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}

/// Number of sampled lines that are joined to detect the language of a side.
const LINES_OF_BLOCK: usize = 20;

/// Minimum number of such blocks; the language of less text is not guessed.
const MIN_BLOCKS: usize = 10;

/// Minimum share of the blocks of a side that must be in its language.
const MIN_SHARE: f64 = 0.8;

/// Minimum number of letters of a line to judge its language.
const MIN_LETTERS: usize = 25;

/// Minimum confidence that a line is in the language of the other side, and not in its own.
const MIN_CONFIDENCE: f64 = 0.95;

/// Minimum number of numbers on both sides to compare them; a single one may be converted, or written as a word.
const MIN_NUMBERS: usize = 2;

/// Maximum size of a line that is judged by more than its length, in bytes.
const MAX_JUDGED_BYTES: usize = 1 << 13;

/// The maximum ratio of the lengths of two sides, after the usual ratio of their text is taken off, and
/// [`ADDED_CHARACTERS`] are added to both.
const MAX_RATIO: f64 = 3.0;

/// Number of characters that are added to both sides, since short lines differ more.
const ADDED_CHARACTERS: f64 = 15.0;

pub(super) struct Judge {
    src: Side,
    tgt: Side,
    /// The characters of all sampled targets, for each character of their sources.
    ratio: f64,
}

struct Side {
    check: Protection,
    /// Its language; `None` if it is not known for sure, or not known to whatlang.
    lang: Option<Lang>,
}

impl Judge {
    /// Learns the languages and the ratio of lengths from a sample, except for languages that are given.
    pub(super) fn new(sample: &[(String, String)], given: [Option<&LanguageCode>; 2]) -> Self {
        let side = |lines: &[&str], given: Option<&LanguageCode>| {
            let lang = match given {
                Some(code) => known_lang(code),
                None => usual_lang(lines),
            };
            let code = given.cloned().or_else(|| lang.and_then(code_of));
            Side {
                check: Protection::placeholders().with_check(code.as_ref()),
                lang,
            }
        };
        let (sources, targets): (Vec<&str>, Vec<&str>) = sample
            .iter()
            .map(|(src, tgt)| (src.as_str(), tgt.as_str()))
            .unzip();
        let n_chars = |lines: &[&str]| {
            let chars = lines.iter().map(|line| line.chars().count());
            chars.sum::<usize>().max(1) as f64
        };
        Self {
            src: side(&sources, given[0]),
            tgt: side(&targets, given[1]),
            ratio: n_chars(&targets) / n_chars(&sources),
        }
    }

    pub(super) fn languages(&self) -> [Option<&'static str>; 2] {
        [&self.src, &self.tgt].map(|side| side.lang.map(|lang| lang.eng_name()))
    }

    pub(super) fn defect(&self, src: &str, tgt: &str) -> Option<Defect> {
        if is_damaged(src) || is_damaged(tgt) {
            return Some(Defect::Damaged);
        }
        if src.trim() == tgt.trim() {
            let is_translated =
                matches!((self.src.lang, self.tgt.lang), (Some(a), Some(b)) if a != b);
            return (is_translated && is_sentence(src)).then_some(Defect::Copy);
        }
        if self.has_odd_lengths(src, tgt) {
            return Some(Defect::Lengths);
        }
        if src.len().max(tgt.len()) > MAX_JUDGED_BYTES {
            return None;
        }
        // What is copied does not depend on the language.
        let [src_items, tgt_items] = [src, tgt].map(|line| self.src.check.items(line));
        let faults = self.tgt.check.faults_of(src, &src_items, tgt);
        let faults = faults.and(self.src.check.faults_of(tgt, &tgt_items, src));
        let of_fault = |fault, defect| faults.contains(fault).then_some(defect);
        let is_foreign =
            || self.src.is_foreign(src, self.tgt.lang) || self.tgt.is_foreign(tgt, self.src.lang);
        of_fault(Fault::Script, Defect::Script)
            .or_else(|| of_fault(Fault::Length, Defect::Lengths))
            .or_else(|| of_fault(Fault::Empty, Defect::Lengths))
            .or_else(|| {
                (placeholders(src, &src_items) != placeholders(tgt, &tgt_items))
                    .then_some(Defect::Copied)
            })
            .or_else(|| have_other_numbers(src, tgt).then_some(Defect::Numbers))
            .or_else(|| of_fault(Fault::Repetition, Defect::Repetition))
            .or_else(|| is_foreign().then_some(Defect::Language))
    }

    fn has_odd_lengths(&self, src: &str, tgt: &str) -> bool {
        let length = |line: &str| line.trim().chars().count() as f64;
        let (src, tgt) = (length(src) * self.ratio, length(tgt));
        (src.max(tgt) + ADDED_CHARACTERS) / (src.min(tgt) + ADDED_CHARACTERS) > MAX_RATIO
    }
}

impl Side {
    /// Returns whether a line is in another language: in `other`, that of the other side, or in a third one, if both
    /// detectors say so.
    fn is_foreign(&self, line: &str, other: Option<Lang>) -> bool {
        let Some(own) = self.lang else {
            return false;
        };
        // A line with more letters of another script, such as names in Latin letters, says nothing about the language.
        let is_in_script = || Detector::with_allowlist(vec![own]).detect_lang(line) == Some(own);
        if line.chars().filter(|c| c.is_alphabetic()).count() < MIN_LETTERS || !is_in_script() {
            return false;
        }
        let between = other.filter(|other| *other != own).and_then(|other| {
            let found = Detector::with_allowlist(vec![own, other]).detect(line)?;
            Some(found.lang() == other && found.confidence() >= MIN_CONFIDENCE)
        });
        let is_third = || {
            // whichlang always answers one of its languages.
            let mut known = whichlang::LANGUAGES.iter();
            let second = whichlang::detect_language(line).three_letter_code();
            known.any(|lang| lang.three_letter_code() == own.code())
                && second != own.code()
                && whatlang::detect(line)
                    .is_some_and(|found| found.is_reliable() && found.lang().code() == second)
        };
        between == Some(true) || is_third()
    }
}

/// Returns whether both sides have numbers of several digits, and none in common.
fn have_other_numbers(src: &str, tgt: &str) -> bool {
    let numbers = |line: &str| {
        let mut numbers = groups(&with_joined_thousands(line));
        numbers.retain(|digits| digits.len() > 1);
        numbers
    };
    let (src, tgt) = (numbers(src), numbers(tgt));
    src.len().min(tgt.len()) >= MIN_NUMBERS && !src.iter().any(|number| tgt.contains(number))
}

/// Returns the placeholders and tags of a line, and a sign for each address, sorted.
fn placeholders(line: &str, items: &[Item]) -> Vec<String> {
    let keys = items
        .iter()
        .filter_map(|it| key_of(&line[it.range.clone()]));
    let mut keys: Vec<String> = keys.collect();
    keys.sort_unstable();
    keys
}

/// Returns what must be equal on both sides: a placeholder without the position of `printf` (`%s` for `%2$s`), the name of
/// a tag, the fact that there is an address; `None` for text that translations write in their own way.
fn key_of(text: &str) -> Option<String> {
    if let Some(tag) = text.strip_prefix('<') {
        let name = tag.trim_start_matches('/');
        let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
        return Some(format!("<{name}>"));
    }
    if text.contains("://") {
        return Some("://".to_owned());
    }
    if text.starts_with('{') {
        return Some(text.to_owned());
    }
    // `%5` is five percent in Turkish.
    let rest = text
        .strip_prefix('%')
        .filter(|it| it.contains(char::is_alphabetic))?;
    let (position, kind) = rest.split_once('$').unwrap_or(("", rest));
    let has_position = position.bytes().all(|it| it.is_ascii_digit());
    Some(format!("%{}", if has_position { kind } else { rest }))
}

/// Returns whether a line has characters that only errors of programs write.
fn is_damaged(line: &str) -> bool {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let is_control = c.is_control() && !c.is_whitespace();
        // UTF-8 that was read as Latin-1: `Ã¼` for `ü`.
        let is_misread = matches!(c, 'Ã' | 'Â')
            && chars
                .peek()
                .is_some_and(|next| ('\u{a1}'..='\u{bf}').contains(next));
        if is_control || is_misread || c == char::REPLACEMENT_CHARACTER {
            return true;
        }
    }
    false
}

/// Returns whether a line has three words, or the letters of three words in a script without spaces.
fn is_sentence(line: &str) -> bool {
    let words = line.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphabetic))
        .count()
        >= 3
        || line.chars().filter(|c| c.is_alphabetic()).count() >= 20
}

/// Returns the language of most lines, if there are enough of them and they agree.
fn usual_lang(lines: &[&str]) -> Option<Lang> {
    let blocks = lines
        .chunks_exact(LINES_OF_BLOCK)
        .map(|block| block.join("\n"));
    let reliable = |block: String| whatlang::detect(&block).filter(|found| found.is_reliable());
    let langs: Vec<Option<Lang>> = blocks.map(|block| Some(reliable(block)?.lang())).collect();
    let of = |lang: Option<Lang>| langs.iter().filter(|it| **it == lang).count();
    let usual = langs.iter().copied().max_by_key(|lang| of(*lang))??;
    let is_sure = of(Some(usual)) as f64 >= MIN_SHARE * langs.len() as f64;
    (is_sure && langs.len() >= MIN_BLOCKS).then_some(usual)
}

/// Returns whatlang's language of a code without a script, which may be another than whatlang expects.
fn known_lang(code: &LanguageCode) -> Option<Lang> {
    let has_script = code.as_str().split('-').skip(1).any(|part| part.len() == 4);
    let lang = Lang::from_code(three_letter_code(code.language())?);
    lang.filter(|_| !has_script)
}

fn code_of(lang: Lang) -> Option<LanguageCode> {
    two_letter_code(lang.code())?.parse().ok()
}
