//! [`Piece`]: words, whitespace and other characters, the units in which texts are compared as whole words.

use std::ops::Range;

use transformer_core::text::is_without_spaces;

/// A part of a text that is compared as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its characters; one space for whitespace of any length.
    pub(super) text: &'a str,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
}

/// Cuts a text into words, runs of whitespace, and single other characters.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    // The kind of character that continues the last piece, if any.
    let mut last = Kind::Other;
    for (start, c) in text.char_indices() {
        let range = start..start + c.len_utf8();
        let kind = Kind::of(c);
        match pieces.last_mut() {
            Some(piece) if kind == last && kind != Kind::Other => {
                piece.range.end = range.end;
                if kind == Kind::Word {
                    piece.text = &text[piece.range.clone()];
                }
            }
            _ => pieces.push(Piece {
                text: match kind {
                    Kind::Space => " ",
                    Kind::Word | Kind::Other => &text[range.clone()],
                },
                range,
            }),
        }
        last = kind;
    }
    pieces
}

/// Returns whether a character continues the word of the character before it, if that is part of one.
///
/// Letters, digits and marks do, except in writing systems that do not separate words, such as Chinese, where every
/// character counts as a word.
pub(crate) fn continues_word(c: char) -> bool {
    (c.is_alphanumeric() || is_mark(c)) && !is_without_spaces(c)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Space,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        if continues_word(c) {
            Self::Word
        } else if c.is_whitespace() {
            Self::Space
        } else {
            Self::Other
        }
    }
}

/// Combining marks that are not letters: accents, signs of Indic scripts that suppress a vowel, and joiners.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05C7}' | '\u{0610}'..='\u{061A}'
        | '\u{064B}'..='\u{065F}' | '\u{093C}' | '\u{094D}' | '\u{09BC}' | '\u{09CD}' | '\u{0A3C}' | '\u{0A4D}'
        | '\u{0ABC}' | '\u{0ACD}' | '\u{0B3C}' | '\u{0B4D}' | '\u{0BCD}' | '\u{0C4D}' | '\u{0CBC}' | '\u{0CCD}'
        | '\u{0D4D}' | '\u{0DCA}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{200C}' | '\u{200D}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn words_are_whole_and_other_characters_are_single() {
        assert_eq!(
            texts("Zwei  Hunde-Hütten!?"),
            ["Zwei", " ", "Hunde", "-", "Hütten", "!", "?"]
        );
    }

    #[test]
    fn a_word_keeps_its_combining_accents() {
        assert_eq!(texts("cafe\u{301}s"), ["cafe\u{301}s"]);
    }

    #[test]
    fn every_chinese_character_is_a_word() {
        assert_eq!(texts("我爱狗 2狗"), ["我", "爱", "狗", " ", "2", "狗"]);
    }

    #[test]
    fn the_ranges_of_the_pieces_are_the_text() {
        let text = " a\t b—c ";
        let pieces = pieces(text);
        let whole: String = pieces.iter().map(|it| &text[it.range.clone()]).collect();
        assert_eq!(whole, text);
    }
}
