//! [`TermTokenizer`]: the terms that translations must contain, as tokens.

use std::sync::Arc;

use transformer_core::text::{N_SPECIAL, Tokenizer, UNK};

use super::terms::{capitalized, continues_word, unmet_terms};
use transformer_search::{Phrase, Position, Request, TokenEdges, Variant};

/// Texts before a term, for tokenizing it as it is written inside a text, the usual one first.
const BEFORE: [&str; 3] = ["a", "1", "."];

/// The placeholder for bytes that are not a whole character.
const INCOMPLETE: char = '\u{FFFD}';

#[derive(Debug)]
pub(super) struct TermTokenizer {
    edges: Arc<[TokenEdges]>,
}

impl TermTokenizer {
    /// Determines for every token whether its text continues a word. It takes about a microsecond per token.
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let edges = edges(tokenizer).into();
        Self { edges }
    }

    /// Returns the phrases of the first [`Request::MOST_PHRASES`] terms, without those that cannot be written.
    pub(super) fn phrases(&self, tokenizer: &Tokenizer, terms: &[&str]) -> Vec<Phrase> {
        let terms = terms.iter().take(Request::MOST_PHRASES);
        let phrases = terms.map(|term| self.phrase(tokenizer, term));
        phrases.filter(Phrase::can_be_written).collect()
    }

    /// Returns the spellings of a term: after a space, at the start of a text or after an opening bracket, and with an
    /// initial capital at the start.
    fn phrase(&self, tokenizer: &Tokenizer, term: &str) -> Phrase {
        let inside = |before: &&str| ids_after(tokenizer, before, &format!(" {term}"));
        let (inside, at_start) = (BEFORE.iter().find_map(inside), tokenizer.encode(term));
        let anywhere = [inside, Some(at_start), ids_after(tokenizer, "(", term)];
        let capital = capitalized(term).map(|term| tokenizer.encode(&term));
        let positions = [Position::Anywhere; 3].into_iter().chain([Position::Start]);
        let mut variants: Vec<Variant> = Vec::new();
        for (ids, position) in anywhere.into_iter().chain([capital]).zip(positions) {
            let ids = ids.unwrap_or_default();
            let is_new = variants.iter().all(|known| known.ids != ids);
            if is_new && !ids.is_empty() && ids.iter().all(|id| *id as usize >= N_SPECIAL) {
                variants.push(Variant { ids, position });
            }
        }
        Phrase {
            variants,
            edges: Arc::clone(&self.edges),
        }
    }
}

/// Returns the indices of the terms that a translation does not contain as whole words.
pub(super) fn unmet(tokenizer: &Tokenizer, text: &str, terms: &[&str]) -> Vec<usize> {
    unmet_terms(text, terms, |term| {
        // A tokenizer may change the case or the encoding of characters.
        let ids = tokenizer.encode(term);
        let written = (!ids.contains(&UNK)).then(|| tokenizer.decode(&ids));
        let written = written.filter(|written| written != term);
        [term.to_owned()].into_iter().chain(written).collect()
    })
}

/// Returns the tokens of `text` after `before`, if the tokens of `before` do not depend on it.
fn ids_after(tokenizer: &Tokenizer, before: &str, text: &str) -> Option<Vec<u32>> {
    let ids = tokenizer.encode(&format!("{before}{text}"));
    let rest = ids.strip_prefix(tokenizer.encode(before).as_slice())?;
    Some(rest.to_vec())
}

/// Returns the edges of every token, found by decoding it after another token that can be continued.
fn edges(tokenizer: &Tokenizer) -> Vec<TokenEdges> {
    let ids = || 0..tokenizer.vocab_size() as u32;
    let is_letter = |c: char| continues_word(c) || c == INCOMPLETE;
    let text_of = |id: &u32| tokenizer.decode(&[*id]);
    let word = ids().find(|id| text_of(id).ends_with(continues_word));
    let Some(word) = word else {
        // Every character is a word.
        return vec![TokenEdges::default(); tokenizer.vocab_size()];
    };
    let before = text_of(&word);
    let edges = ids().map(|id| {
        let both = tokenizer.decode(&[word, id]);
        let text = both.strip_prefix(&before);
        TokenEdges {
            continues: text.is_none_or(|text| text.starts_with(is_letter)),
            continuable: text.is_none_or(|text| text.ends_with(is_letter)),
        }
    });
    edges.collect()
}

#[cfg(test)]
mod tests {
    use transformer_core::text::{TokenizerConfig, TokenizerError, TokenizerKind};

    use super::*;

    const LINES: [&str; 4] = [
        "Der Hund und der Hundert Hund.",
        "ein Hund ist (ein) großer Hund.",
        "Hunderte große Hunde, (Hund) der Hund.",
        "1 a der Hund",
    ];

    fn tokenizer(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            vocab_size: 60,
            ..TokenizerConfig::default()
        };
        Tokenizer::train(&config, LINES)
    }

    /// Returns the variants that may be anywhere, as text after a word.
    fn variants(kind: TokenizerKind, term: &str) -> Result<Vec<String>, TokenizerError> {
        let tokenizer = tokenizer(kind)?;
        let phrase = TermTokenizer::new(&tokenizer).phrase(&tokenizer, term);
        assert_eq!(phrase.can_be_written(), !phrase.variants.is_empty());
        let before = tokenizer.encode("der");
        let anywhere = phrase
            .variants
            .iter()
            .filter(|it| it.position == Position::Anywhere);
        let text = |it: &Variant| tokenizer.decode(&[before.as_slice(), &it.ids].concat());
        Ok(anywhere.map(text).collect())
    }

    #[test]
    fn a_term_is_a_word_of_its_own_behind_another_in_every_kind_of_tokenizer()
    -> Result<(), TokenizerError> {
        for kind in [
            TokenizerKind::Bpe,
            TokenizerKind::Unigram,
            TokenizerKind::Char,
        ] {
            let variants = variants(kind, "Hund")?;
            assert_eq!(variants[0], "der Hund", "{kind}");
            assert!(variants.contains(&"derHund".to_owned()), "{kind}");
        }
        assert_eq!(variants(TokenizerKind::Word, "Hund")?, ["der Hund"]);
        Ok(())
    }

    #[test]
    fn a_term_with_unknown_characters_cannot_be_written() -> Result<(), TokenizerError> {
        for kind in [TokenizerKind::Bpe, TokenizerKind::Char, TokenizerKind::Word] {
            let tokenizer = tokenizer(kind)?;
            let phrases = TermTokenizer::new(&tokenizer).phrases(&tokenizer, &["Katze", "Hund"]);
            assert_eq!(phrases.len(), 1, "{kind}");
        }
        Ok(())
    }

    #[test]
    fn a_lower_case_term_may_have_a_capital_at_the_start() -> Result<(), TokenizerError> {
        let tokenizer = tokenizer(TokenizerKind::Bpe)?;
        let phrase = TermTokenizer::new(&tokenizer).phrase(&tokenizer, "der Hund");
        let at_start = phrase.variants.last();
        let at_start = at_start.filter(|it| it.position == Position::Start);
        assert_eq!(
            at_start.map(|it| tokenizer.decode(&it.ids)),
            Some("Der Hund".to_owned())
        );
        Ok(())
    }

    #[test]
    fn letters_continue_a_word_and_marked_words_and_punctuation_do_not()
    -> Result<(), TokenizerError> {
        let tokenizer = tokenizer(TokenizerKind::Bpe)?;
        let edges = edges(&tokenizer);
        let of = |token: &str| tokenizer.id(token).map(|id| edges[id as usize]);
        let edges_of = |continues, continuable| {
            Some(TokenEdges {
                continues,
                continuable,
            })
        };
        assert_eq!(of("▁Hund"), edges_of(false, true));
        assert_eq!(of("e"), edges_of(true, true));
        assert_eq!(of("."), edges_of(false, false));
        assert_eq!(of("</s>"), edges_of(false, false));
        Ok(())
    }

    #[test]
    fn a_tokenizer_that_lowers_the_case_writes_terms_in_lower_case() -> Result<(), TokenizerError> {
        let config = TokenizerConfig {
            case: transformer_core::text::Case::Lower,
            vocab_size: 60,
            ..TokenizerConfig::default()
        };
        let tokenizer = Tokenizer::train(&config, LINES)?;
        assert!(unmet(&tokenizer, "der hund", &["Hund"]).is_empty());
        Ok(())
    }
}
