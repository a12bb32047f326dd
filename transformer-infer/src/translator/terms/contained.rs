//! Which terms a text contains, as whole words.

use std::cmp::Reverse;

use super::pieces::{Piece, pieces};

/// Returns the indices of the terms that a text does not contain, each at a place of its own.
///
/// `spellings` has the spellings of each term, one of which is enough. A spelling may have an initial capital at the
/// start of the text.
pub(crate) fn unmet_terms(text: &str, spellings: &[Vec<String>]) -> Vec<usize> {
    let text = pieces(text);
    let mut is_used = vec![false; text.len()];
    let mut order: Vec<usize> = (0..spellings.len()).collect();
    let n_bytes = |term: &usize| spellings[*term].iter().map(String::len).max();
    // A term may be a part of a longer one.
    order.sort_by_key(|term| Reverse(n_bytes(term)));
    order.retain(|term| {
        let mut spellings = spellings[*term].iter();
        let position = spellings.find_map(|spelling| find(&text, &is_used, &pieces(spelling)));
        if let Some((start, n_pieces)) = position {
            is_used[start..start + n_pieces].fill(true);
        }
        position.is_none()
    });
    order.sort_unstable();
    order
}

/// Returns the first unused place of a term in a text, and its number of pieces.
fn find(text: &[Piece<'_>], is_used: &[bool], term: &[Piece<'_>]) -> Option<(usize, usize)> {
    let (first, others) = term.split_first()?;
    let capital = capitalized(first.text);
    let mut starts = 0..(text.len() + 1).saturating_sub(term.len());
    let start = starts.find(|start| {
        let end = start + term.len();
        let (found, rest) = (&text[*start], &text[start + 1..end]);
        let is_first =
            found.text == first.text || *start == 0 && capital.as_deref() == Some(found.text);
        let is_rest = || rest.iter().zip(others).all(|(a, b)| a.text == b.text);
        is_first && is_rest() && !is_used[*start..end].contains(&true)
    })?;
    Some((start, term.len()))
}

/// Returns a text with an initial capital, if it has a lower-case initial.
pub(crate) fn capitalized(text: &str) -> Option<String> {
    let mut rest = text.chars();
    let first = rest.next().filter(|first| first.is_lowercase())?;
    Some(first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmet(text: &str, terms: &[&str]) -> Vec<usize> {
        let spellings: Vec<Vec<String>> = terms.iter().map(|it| vec![(*it).to_owned()]).collect();
        unmet_terms(text, &spellings)
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
    fn a_part_of_a_longer_term_is_no_occurrence() {
        assert_eq!(unmet("das rote Haus", &["Haus", "rote Haus"]), [0]);
    }

    #[test]
    fn a_term_may_begin_the_text_with_a_capital() {
        assert_eq!(unmet("Rote Rote", &["rote", "rote"]), [1]);
    }
}
