//! [`Splitter`]: where the sentences of a passage are.

use std::ops::Range;
use std::str::FromStr;

/// How a passage is split into the segments that are translated one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Into sentences; a line end that the format keeps ends a sentence.
    #[default]
    Sentences,
    /// At line ends only.
    Lines,
    /// Not at all, except at line ends that the format keeps.
    None,
}

/// A name that is none of the ways to split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no way to split text; choose sentences, lines or none")]
pub struct SplitError {
    /// The name given.
    pub name: String,
}

impl FromStr for Split {
    type Err = SplitError;

    fn from_str(name: &str) -> Result<Self, SplitError> {
        match name {
            "sentences" => Ok(Self::Sentences),
            "lines" => Ok(Self::Lines),
            "none" => Ok(Self::None),
            _ => {
                let name = name.to_owned();
                Err(SplitError { name })
            }
        }
    }
}

impl std::fmt::Display for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sentences => "sentences",
            Self::Lines => "lines",
            Self::None => "none",
        })
    }
}

/// Finds the segments of passages in one language.
#[derive(Clone, Debug)]
pub struct Splitter {
    split: Split,
    /// Code of the language, such as `en`; sentencex splits a language that it does not know like a related one, or
    /// like English.
    language: String,
}

impl Splitter {
    /// Splits text of a language, given by its code, such as `en` or `pt-BR`.
    pub fn new(split: Split, language: &str) -> Self {
        // sentencex knows languages, and not their scripts and regions.
        let language = language.split('-').next().unwrap_or(language);
        Self {
            split,
            language: language.to_ascii_lowercase(),
        }
    }

    /// Returns the byte ranges of the segments, in order, without the whitespace around them.
    ///
    /// `is_soft` says that line ends are spaces, as in HTML; otherwise they end a sentence.
    pub(super) fn segments(&self, text: &str, is_soft: bool) -> Vec<Range<usize>> {
        let mut segments = Vec::new();
        let mut add = |range: Range<usize>| segments.extend(trimmed(text, range));
        match self.split {
            Split::None if is_soft => add(0..text.len()),
            Split::None | Split::Lines => lines(text).for_each(add),
            Split::Sentences if is_soft => {
                // Line ends and tabs are one byte each, as a space is.
                let spaced = text.replace(['\n', '\r', '\t', '\u{c}'], " ");
                self.sentences(&spaced).for_each(add);
            }
            Split::Sentences => {
                for line in lines(text) {
                    let start = line.start;
                    let sentences = self.sentences(&text[line]);
                    sentences
                        .map(|it| it.start + start..it.end + start)
                        .for_each(&mut add);
                }
            }
        }
        segments
    }

    fn sentences<'a>(&self, text: &'a str) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let start = text.as_ptr() as usize;
        let sentences = sentencex::segment(&self.language, text).into_iter();
        // The sentences are parts of the text; what lies between two of them belongs to the first.
        let starts: Vec<usize> = sentences
            .map(|it| (it.as_ptr() as usize).saturating_sub(start))
            .filter(|start| *start <= text.len())
            .scan(0, |least, start| {
                *least = start.max(*least);
                Some(*least)
            })
            .collect();
        let firsts = [0].into_iter().chain(starts.clone().into_iter().skip(1));
        let ends = starts.into_iter().skip(1).chain([text.len()]);
        firsts.zip(ends).map(|(start, end)| start..end.max(start))
    }
}

/// Returns the lines with their ends.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive(['\n', '\r']).map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}

/// Removes the whitespace around; `None` if nothing is left.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    (start < end).then_some(start..end)
}

/// Returns the end of the first part of a text that is longer than `most` bytes: behind a clause if that is in its
/// second half, else behind a word, else behind a character.
pub(super) fn end_of_part(text: &str, most: usize) -> usize {
    let most = text.floor_char_boundary(most);
    let first = text.chars().next().map_or(0, char::len_utf8);
    let part = &text[..most];
    let is_clause_end = |c: char| {
        matches!(
            c,
            ',' | ';' | ':' | '–' | '—' | '，' | '；' | '：' | '、' | '。' | '．'
        )
    };
    let mut clauses = part.char_indices().filter(|(at, c)| {
        let rest = &text[at + c.len_utf8()..];
        is_clause_end(*c) && (!c.is_ascii() || rest.starts_with(char::is_whitespace))
    });
    let clause = clauses.next_back().map(|(at, c)| at + c.len_utf8());
    let clause = clause.filter(|end| *end >= most / 2);
    // A word may end exactly where the part does.
    let word = match text[most..].starts_with(char::is_whitespace) {
        true => Some(most),
        false => part
            .trim_end()
            .rfind(char::is_whitespace)
            .filter(|at| !part[..*at].trim().is_empty()),
    };
    clause.or(word).unwrap_or(most).max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    proptest::proptest! {
        #[test]
        fn segments_are_in_order_and_leave_out_only_whitespace(text in "[a-zA-Z.!?。「」\"'\\n\\r\\t  é]{0,60}", is_soft: bool) {
            for split in [Split::Sentences, Split::Lines, Split::None] {
                let mut end = 0;
                for range in Splitter::new(split, "de").segments(&text, is_soft) {
                    proptest::prop_assert!(range.start >= end && range.start < range.end);
                    proptest::prop_assert!(text[end..range.start].trim().is_empty());
                    end = range.end;
                }
                proptest::prop_assert!(text[end..].trim().is_empty());
            }
        }
    }
}
