//! Finds the terms that a text contains as whole words, piece by piece ([`Piece`]).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use transformer_core::text::is_without_spaces;

/// Returns the indices of the terms that a text does not contain without overlaps.
///
/// `spellings` returns the spellings of a term, any of which is enough; it is called once for equal terms. A spelling
/// may have an initial capital at the start of the text. The time is one pass over the text for each different term.
pub(crate) fn unmet_terms<'a>(
    text: &str,
    terms: &[&'a str],
    mut spellings: impl FnMut(&'a str) -> Vec<String>,
) -> Vec<usize> {
    let text = pieces(text);
    let mut is_used = vec![false; text.len()];
    let mut indices: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, term) in terms.iter().enumerate() {
        indices.entry(term).or_default().push(index);
    }
    let with_spellings = indices.into_iter().map(|(term, indices)| {
        let spellings = spellings(term);
        (indices, spellings)
    });
    let mut different: Vec<(Vec<usize>, Vec<String>)> = with_spellings.collect();
    let n_bytes = |spellings: &[String]| spellings.iter().map(String::len).max();
    // A term may be part of a longer one.
    different.sort_by_key(|(indices, spellings)| (Reverse(n_bytes(spellings)), indices[0]));
    let mut unmet = Vec::new();
    for (indices, spellings) in &different {
        let n_found = use_places(&text, &mut is_used, spellings, indices.len());
        unmet.extend_from_slice(&indices[n_found..]);
    }
    unmet.sort_unstable();
    unmet
}

/// Marks the first unused occurrences of a term in a text as used, at most `n_terms`, and returns their number.
fn use_places(
    text: &[Piece<'_>],
    is_used: &mut [bool],
    spellings: &[String],
    n_terms: usize,
) -> usize {
    let mut n_found = 0;
    for spelling in spellings {
        let spelling = pieces(spelling);
        let mut start = 0;
        while n_found < n_terms
            && let Some(found) = find(text, is_used, &spelling, start)
        {
            start = found + spelling.len();
            is_used[found..start].fill(true);
            n_found += 1;
        }
    }
    n_found
}

/// Returns the first unused place of a term in a text, from the piece `start` on.
fn find(text: &[Piece<'_>], is_used: &[bool], term: &[Piece<'_>], start: usize) -> Option<usize> {
    let (first, others) = term.split_first()?;
    let capital = capitalized(first.text);
    let mut starts = start..(text.len() + 1).saturating_sub(term.len());
    starts.find(|start| {
        let end = start + term.len();
        let (found, rest) = (&text[*start], &text[start + 1..end]);
        let is_first =
            found.text == first.text || *start == 0 && capital.as_deref() == Some(found.text);
        let is_rest = || rest.iter().zip(others).all(|(a, b)| a.text == b.text);
        is_first && is_rest() && !is_used[*start..end].contains(&true)
    })
}

/// Returns a text with an initial capital, if it has a lower-case initial.
pub(crate) fn capitalized(text: &str) -> Option<String> {
    let mut rest = text.chars();
    let first = rest.next().filter(|first| first.is_lowercase())?;
    Some(first.to_uppercase().chain(rest).collect())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its characters; one space for whitespace of any length.
    pub(super) text: &'a str,
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

/// Returns whether a character continues the word of the character before it, if that is part of one. Letters, digits
/// and marks do, except in writing systems that do not separate words, such as Chinese, where every character counts as
/// a word.
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

    fn unmet(text: &str, terms: &[&str]) -> Vec<usize> {
        unmet_terms(text, terms, |term| vec![term.to_owned()])
    }

    #[test]
    fn a_term_inside_of_a_word_is_not_met() {
        assert_eq!(unmet("Hundert Hunde", &["Hund"]), [0]);
        assert_eq!(unmet("der Hund.", &["Hund"]), [0; 0]);
    }

    #[test]
    fn equal_terms_need_an_occurrence_each() {
        assert_eq!(unmet("Hund und Hund", &["Hund", "Hund", "Hund"]), [2]);
    }

    #[test]
    fn equal_terms_are_spelled_once_whatever_their_number() {
        let mut n_calls = 0;
        let terms = [["Hund"; 100], ["Haus"; 100]].concat();
        let unmet = unmet_terms("Hund und Hund", &terms, |term| {
            n_calls += 1;
            vec![term.to_owned()]
        });
        assert_eq!((n_calls, unmet), (2, (2..200).collect()));
    }

    #[test]
    fn every_spelling_of_a_term_is_an_occurrence() {
        let unmet = unmet_terms("Hund hund", &["Hund"; 3], |term| {
            vec![term.to_owned(), term.to_lowercase()]
        });
        assert_eq!(unmet, [2]);
    }

    #[test]
    fn a_part_of_a_longer_term_is_no_occurrence() {
        assert_eq!(unmet("das rote Haus", &["Haus", "rote Haus"]), [0]);
    }

    #[test]
    fn a_term_may_begin_the_text_with_a_capital() {
        assert_eq!(unmet("Rote Rote", &["rote", "rote"]), [1]);
    }
}

#[cfg(test)]
mod pieces_tests {
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
