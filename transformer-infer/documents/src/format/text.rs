//! [`Paragraphs`]: plain text.

use std::sync::Arc;

use super::parts::{PartQueue, ReadParts};
use super::source::Source;
use crate::split::list_mark;
use crate::{Notation, Passage, Plain, ReadError};

const PASSAGE_BYTES: usize = 1 << 15;

/// The end of a paragraph of plain text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paragraphs {
    /// A line end: each line is a paragraph or a part of one.
    #[default]
    Lines,
    /// A blank line, or the line before a list item: the lines of a paragraph are wrapped, and sentences continue
    /// across line ends.
    BlankLines,
}

#[derive(Clone, Copy, Debug)]
struct Wrapped;

impl Notation for Wrapped {
    fn has_soft_line_ends(&self) -> bool {
        true
    }
}

impl ReadParts for Paragraphs {
    /// Every character is translated text. Passages are pieces of about 32 KiB that end with a paragraph. A longer
    /// paragraph is cut after a sentence, or else after a word, so that memory does not grow with it.
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        while source.text().len() <= 2 * PASSAGE_BYTES && !source.is_at_end() {
            source.fill()?;
        }
        let (text, is_all) = (source.text(), source.is_at_end());
        if text.is_empty() {
            return Ok(false);
        }
        let (end, notation): (usize, Arc<dyn Notation>) = match self {
            Self::Lines => (end_of_piece(text, is_all), Arc::new(Plain)),
            Self::BlankLines => (end_of_paragraph(text, is_all), Arc::new(Wrapped)),
        };
        parts.push_passage(Passage {
            text: source.take(end),
            marks: Vec::new(),
            notation,
        });
        Ok(true)
    }
}

/// Returns the end of the first piece: all of a short text, otherwise after the last line end, sentence or word.
fn end_of_piece(text: &str, is_all: bool) -> usize {
    if is_all && text.len() <= PASSAGE_BYTES {
        return text.len();
    }
    let piece = &text[..text.floor_char_boundary(PASSAGE_BYTES)];
    let line = piece.rfind('\n').map(|at| at + 1);
    let word = || {
        let space = piece.char_indices().rfind(|(_, c)| c.is_whitespace());
        space.map(|(at, c)| at + c.len_utf8())
    };
    let end = line.or_else(|| end_of_sentence(piece)).or_else(word);
    end.unwrap_or(piece.len())
}

/// Returns the position after the last full stop followed by whitespace, or after the last ideographic one.
fn end_of_sentence(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().rev();
    let mut behind = None;
    characters.find_map(|(at, c)| {
        let end = at + c.len_utf8();
        let ends = match c {
            '.' | '!' | '?' | '…' => behind.is_some_and(char::is_whitespace),
            '。' | '！' | '？' | '।' => true,
            _ => false,
        };
        behind = Some(c);
        ends.then_some(end)
    })
}

/// Returns the end of the first paragraph or list item, including the blank lines after it.
fn end_of_paragraph(text: &str, is_all: bool) -> usize {
    let is_item = list_mark(text) > 0;
    let mut at = 0;
    let mut has_blank = false;
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        let mark = &line[..list_mark(line)];
        // A number at the start of a line may belong to the sentence, unless the paragraph is also a list item.
        let is_next_item = !mark.is_empty() && (is_item || !mark.contains(char::is_alphanumeric));
        if at > 0 && (is_next_item || has_blank && !is_blank) {
            return at;
        }
        has_blank |= is_blank && at > 0;
        at += line.len();
        if at > PASSAGE_BYTES {
            return end_of_piece(text, false);
        }
    }
    debug_assert!(is_all, "a window is larger than a passage");
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encoding::Charset;
    use super::super::parts::PartReader;
    use super::*;

    fn read(text: &[u8], paragraphs: Paragraphs) -> PartReader {
        let source = Source::new("`a`".to_owned(), std::io::Cursor::new(text.to_owned()));
        PartReader::new(source, Box::new(paragraphs), Charset::UTF_8)
    }

    fn passages(text: &str, paragraphs: Paragraphs) -> Vec<String> {
        read(text.as_bytes(), paragraphs)
            .map(|part| part.expect("the text is UTF-8").source())
            .collect()
    }

    #[test]
    fn wrapped_paragraphs_are_passages_with_the_blank_lines_behind_them() {
        let found = passages("One\ntwo.\n\n \nThree\n", Paragraphs::BlankLines);
        assert_eq!(found, ["One\ntwo.\n\n \n", "Three\n"]);
    }

    #[test]
    fn items_of_wrapped_lists_are_passages() {
        let text = "1. A man\n   runs.\n2. A dog.\n- A cat\n";
        let found = passages(text, Paragraphs::BlankLines);
        assert_eq!(found, ["1. A man\n   runs.\n", "2. A dog.\n", "- A cat\n"]);
        let found = passages("Since\n1. May or\n", Paragraphs::BlankLines);
        assert_eq!(found, ["Since\n1. May or\n"]);
    }

    #[test]
    fn a_long_line_is_cut_behind_sentences() {
        let text = "A dog runs. ".repeat(10_000);
        let found = passages(&text, Paragraphs::Lines);
        assert!(found.len() > 3 && found.iter().all(|it| it.len() <= PASSAGE_BYTES));
        assert!(
            found[1..]
                .iter()
                .all(|it| it.trim_start().starts_with("A dog"))
        );
    }

    #[test]
    fn a_byte_that_is_not_utf8_is_refused_with_its_line() {
        let error = read(b"one\n\xff", Paragraphs::Lines)
            .filter_map(Result::err)
            .next()
            .expect("the text is refused");
        assert!(
            error
                .to_string()
                .starts_with("`a`, line 2: byte 1 of the line is not UTF-8"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn passages_are_the_text(text in "[a.。é \\n]{0,30}", n in 1_usize..9000) {
            let text = text.repeat(n);
            for paragraphs in [Paragraphs::Lines, Paragraphs::BlankLines] {
                prop_assert_eq!(&passages(&text, paragraphs).concat(), &text);
            }
        }
    }
}
