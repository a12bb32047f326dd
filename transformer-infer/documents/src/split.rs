//! [`Splitter`]: finds the sentences of a passage; [`list_mark`]: the mark of a list item, such as `1.` or `•`.

use std::iter;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use transformer_protection::kinds::pattern;

use super::boundaries::boundaries;

/// The way in which a passage is split into segments, which are translated individually.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = SplitError, parse_err_fn = unknown)]
pub enum Split {
    /// Into sentences; a line end that the format keeps ends a sentence.
    #[default]
    Sentences,
    /// At line ends only.
    Lines,
    /// Not at all, except at line ends that the format keeps.
    None,
}

/// An unknown way to split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown unit `{name}`; choose sentences, lines or none")]
pub struct SplitError {
    /// The name given.
    pub name: String,
}

fn unknown(name: &str) -> SplitError {
    let name = name.to_owned();
    SplitError { name }
}

/// Number of bytes of the next words that show whether the number before them marks a list item.
const NEXT_WORDS_BYTES: usize = 64;

/// A finder of the segments of passages in one language.
#[derive(Clone, Debug)]
pub struct Splitter {
    split: Split,
    /// Code of the language, such as `en`; sentencex splits an unknown language like a related one, or like English.
    language: String,
}

impl Splitter {
    /// Splits text of a language, given by its code, such as `en` or `pt-BR`.
    pub fn new(split: Split, language: &str) -> Self {
        // sentencex knows languages, but not their scripts and regions.
        let language = language.split('-').next().unwrap_or(language);
        Self {
            split,
            language: language.to_ascii_lowercase(),
        }
    }

    /// Returns the byte ranges of the segments, in order, without surrounding whitespace and without list marks. If
    /// `is_soft`, line ends are spaces, as in HTML; otherwise they end a sentence.
    pub(super) fn segments(&self, text: &str, is_soft: bool) -> Vec<Range<usize>> {
        let is_whole = is_soft && self.split != Split::Lines;
        let lines: Vec<Range<usize>> = match is_whole {
            true => iter::once(0..text.len()).collect(),
            false => lines(text).collect(),
        };
        let mut segments = Vec::new();
        for line in lines {
            // Line ends and tabs are one byte each, as a space is.
            let spaced = text[line.clone()].replace(['\n', '\r', '\t', '\u{c}'], " ");
            let mut start = self.list_mark(&spaced);
            let ends = match self.split {
                Split::Sentences => boundaries(&self.language, &spaced[start..]),
                Split::Lines | Split::None => Vec::new(),
            };
            let ends: Vec<usize> = ends.into_iter().map(|end| start + end).collect();
            for end in ends.into_iter().chain([spaced.len()]) {
                segments.extend(trimmed(text, line.start + start..line.start + end));
                start = end;
            }
        }
        segments
    }

    /// Returns the length of the list mark, unless it is a number that belongs to the next word, as in `1. Mai`.
    fn list_mark(&self, line: &str) -> usize {
        let len = list_mark(line);
        let has_number = line[..len].trim_end().ends_with('.');
        let goes_on = || {
            let start = &line[..line.floor_char_boundary(len + NEXT_WORDS_BYTES)];
            let sentences = sentencex::segment(&self.language, start);
            sentences.first().is_some_and(|first| first.len() > len)
        };
        if has_number && goes_on() { 0 } else { len }
    }
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive(['\n', '\r']).map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}

/// Removes surrounding whitespace; returns `None` if nothing is left.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    (start < end).then_some(start..end)
}

/// Returns the end of the first part of a text that is longer than `most` bytes: after a clause if that end is in the
/// second half, otherwise after a word, otherwise after a character.
pub(super) fn end_of_part(text: &str, most: usize) -> usize {
    let most = text.floor_char_boundary(most);
    let first = text.chars().next().map_or(0, char::len_utf8);
    let part = &text[..most];
    let is_clause_end = |c: char| ",;:–—，；：、。．".contains(c);
    let mut clauses = part.char_indices().filter(|(at, c)| {
        let next = text[at + c.len_utf8()..].chars().next();
        // Some texts have a full-width comma inside a number.
        let is_end = match c.is_ascii() {
            true => next.is_some_and(char::is_whitespace),
            false => !next.is_some_and(char::is_numeric),
        };
        is_clause_end(*c) && is_end
    });
    let clause = clauses.next_back().map(|(at, c)| at + c.len_utf8());
    let clause = clause.filter(|end| *end >= most / 2);
    // A word may end exactly at the limit.
    let word = match text[most..].starts_with(char::is_whitespace) {
        true => Some(most),
        false => {
            let space = part.trim_end().rfind(char::is_whitespace);
            space.filter(|at| !part[..*at].trim().is_empty())
        }
    };
    clause.or(word).unwrap_or(most).max(first)
}

/// A bullet, dash or emoji; a task box; a letter or number with a bracket; a number with a full stop; a key.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let bullet = r"[-*+]|[\p{Pd}\p{So}•‣⁃·◦∙→⇒&&[^°©®\x{2100}-\x{214f}]][\p{So}\p{Sk}\p{M}\p{Cf}]*";
    let number = r"\d{1,3}(?:\.\d{1,3})*";
    let key = r"[0-9#*]\x{fe0f}?\x{20e3}";
    pattern(&format!(
        r"^\s*(?:{bullet}|\[[ xX]\]|\(?(?:{number}|[a-zA-Z]|[ivxIVX]+)\.?\)|{number}\.|{key})\s+"
    ))
});

/// Returns the length of the marks at the start of a line and the whitespace around them; 0 if nothing follows them.
pub(super) fn list_mark(line: &str) -> usize {
    let mut len = 0;
    while let Some(mark) = MARK.find(&line[len..]) {
        len += mark.len();
    }
    if len == line.len() { 0 } else { len }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use transformer_text::is_without_spaces;

    fn segments<'a>(split: Split, language: &str, text: &'a str) -> Vec<&'a str> {
        let ranges = Splitter::new(split, language).segments(text, false);
        ranges.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_at_full_stops_and_not_at_abbreviations() {
        let text = "Dr. Smith has a dog.  It runs!\nDoes it? Yes";
        let expected = ["Dr. Smith has a dog.", "It runs!", "Does it?", "Yes"];
        assert_eq!(segments(Split::Sentences, "en", text), expected);
    }

    #[test]
    fn sentences_without_spaces_are_found() {
        let found = segments(Split::Sentences, "zh", "他有一只狗。它在跑！");
        assert_eq!(found, ["他有一只狗。", "它在跑！"]);
        let found = segments(Split::Sentences, "ja", "犬がいる。走っている。");
        assert_eq!(found, ["犬がいる。", "走っている。"]);
    }

    #[test]
    fn lines_are_not_split_further() {
        let found = segments(Split::Lines, "en", "One. Two.\r\n\nThree. ");
        assert_eq!(found, ["One. Two.", "Three."]);
    }

    #[test]
    fn text_that_is_not_split_keeps_the_line_ends_of_its_format() {
        let text = "One. Two.\r\nThree.";
        assert_eq!(segments(Split::None, "en", text), ["One. Two.", "Three."]);
        let soft = Splitter::new(Split::None, "en").segments(text, true);
        let soft: Vec<_> = soft.into_iter().map(|range| &text[range]).collect();
        assert_eq!(soft, [text]);
    }

    #[test]
    fn a_soft_line_end_does_not_end_a_sentence() {
        let text = "A dog\nruns. It\r\nis fast.";
        let ranges = Splitter::new(Split::Sentences, "en").segments(text, true);
        let found: Vec<_> = ranges.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["A dog\nruns.", "It\r\nis fast."]);
    }

    #[test]
    fn blank_text_has_no_segment() {
        for split in [Split::Sentences, Split::Lines, Split::None] {
            assert!(segments(split, "en", " \n\t ").is_empty());
        }
    }

    #[test]
    fn a_part_ends_behind_a_clause_a_word_or_a_character() {
        assert_eq!(end_of_part("one two, three four", 12), 8);
        assert_eq!(end_of_part("one, two three four", 17), 14);
        assert_eq!(end_of_part("one two", 3), 3);
        assert_eq!(end_of_part("onetwothree", 4), 4);
        assert_eq!(end_of_part("ééé", 3), 2);
        assert_eq!(end_of_part("é", 1), 2);
    }

    #[test]
    fn marks_of_list_items_are_in_no_segment() {
        let text = "1. A man runs.\n2. A dog sleeps. It is old.\n- A cat plays.\n• 🇩🇪 Yes";
        let expected = [
            "A man runs.",
            "A dog sleeps.",
            "It is old.",
            "A cat plays.",
            "Yes",
        ];
        assert_eq!(segments(Split::Sentences, "en", text), expected);
        assert_eq!(
            segments(Split::Lines, "en", "a) A dog. A cat."),
            ["A dog. A cat."]
        );
        assert_eq!(segments(Split::Sentences, "en", "1."), ["1."]);
    }

    #[test]
    fn a_date_at_the_start_of_a_line_is_no_mark() {
        let found = segments(Split::Sentences, "de", "1. Mai ist Feiertag.\n1. Ein Hund.");
        assert_eq!(found, ["1. Mai ist Feiertag.", "Ein Hund."]);
    }

    /// Returns text of words, numbers and punctuation of many kinds.
    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            4 => "[a-zA-Z]{1,4}",
            2 => "[.!?…]{1,2}",
            3 => "[ \n\r\t\u{a0}]",
            1 => "[)\"'»”(«]",
            1 => "[0-9,.:/%$#-]{1,4}",
            1 => "[。！．」日本éЖ]{1,3}",
            1 => "(Mr|e.g|vol|St|z)[.] ",
            1 => "(- |1. |• |a\\) |[*] )",
        ];
        proptest::collection::vec(word, 0..20).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn segments_are_in_order_and_leave_out_only_whitespace_and_list_marks(
            text in text(), is_soft: bool, language in proptest::sample::select(vec!["en", "de", "zh"]),
        ) {
            for split in [Split::Sentences, Split::Lines, Split::None] {
                let mut end = 0;
                for range in Splitter::new(split, language).segments(&text, is_soft) {
                    prop_assert!(range.start >= end && range.start < range.end);
                    let gap = &text[end..range.start];
                    let is_mark = list_mark(&format!("{gap}x")) == gap.len();
                    prop_assert!(gap.trim().is_empty() || is_mark, "{gap:?}");
                    end = range.end;
                }
                prop_assert!(text[end..].trim().is_empty());
            }
        }

        #[test]
        fn a_boundary_is_at_whitespace_or_behind_a_full_stop_that_no_word_has(
            text in text(), language in proptest::sample::select(vec!["en", "de", "zh"]),
        ) {
            for at in boundaries(language, &text) {
                let (head, tail) = text.split_at(at);
                let is_wide = |c: char| !c.is_ascii() && c != '…' && !c.is_alphabetic();
                prop_assert!(
                    head.ends_with(char::is_whitespace)
                        || tail.starts_with(char::is_whitespace)
                        || head.ends_with(is_wide)
                        || tail.starts_with(is_without_spaces),
                    "{head}|{tail}"
                );
            }
        }
    }
}

#[cfg(test)]
mod list_mark_tests {
    use super::*;

    #[test]
    fn marks_of_many_kinds_are_found() {
        for mark in [
            "1. ",
            " 12)  ",
            "(3) ",
            "1.2. ",
            "- ",
            "* ",
            "+ ",
            "• ",
            "– ",
            "a) ",
            "(B) ",
            "iv) ",
            "[ ] ",
            "- [x] ",
            "✓ ",
            "1️⃣ ",
            "🇩🇪 ",
            "🏴󠁧󠁢󠁥󠁮󠁧󠁿 ",
            "👩‍👩‍👧 ",
            "☀️ ",
        ] {
            assert_eq!(
                list_mark(&format!("{mark}A man runs.")),
                mark.len(),
                "{mark}"
            );
        }
    }

    #[test]
    fn amounts_initials_and_words_are_no_marks() {
        for line in [
            "-5 degrees",
            "1.5 million dogs",
            "2024. A year",
            "A. Smith runs.",
            "I. Newton",
            "5 dogs",
            "%@ runs",
            "$ 5",
            "© Smith",
            "(see there) A",
            "1.",
            "- ",
            "…and",
            "(the) dog",
        ] {
            assert_eq!(list_mark(line), 0, "{line}");
        }
    }
}
