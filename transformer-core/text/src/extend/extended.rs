//! [`ExtendedTokenizer`]: a tokenizer with more tokens, in which the old ones keep their ids; and the errors of adding
//! them.

use std::collections::HashSet;

use thiserror::Error;

use super::hugging_face;
use crate::sentencepiece::SentencePieceError;
use crate::special::{SPECIAL_TOKENS, byte_of};
use crate::tokenizer::Inner;
use crate::{Tokenizer, TokenizerError};

const MAX_PIECE_CHARS: usize = 128;

/// A tokenizer with more tokens than the one it was made from.
#[derive(Clone, Debug)]
pub struct ExtendedTokenizer {
    /// The tokenizer. The new tokens have the last ids.
    pub tokenizer: Tokenizer,
    /// The new tokens, in the order of their ids.
    pub added: Vec<AddedToken>,
}

impl Tokenizer {
    /// Returns whether a piece, given without a mark of the start of a word, is a token.
    pub fn has_piece(&self, piece: &str, position: PiecePosition) -> bool {
        let token = match &self.inner {
            Inner::HuggingFace(inner) => hugging_face::word_of(&inner.tokenizer, piece, position),
            Inner::Pieces(vocabulary) => vocabulary.spelling_of(piece, position),
        };
        token.is_ok_and(|token| self.id(&token).is_some())
    }

    /// Returns a tokenizer that encodes each of these pieces as one token.
    ///
    /// All tokens keep their ids, and words without the spelling of a new token keep their tokens. BPE builds a piece
    /// of more than two tokens by several merges; the results of the merges before the last one are new tokens too. So
    /// are characters that were not in the vocabulary of BPE. Tokenizers of words and of characters ignore `position`,
    /// and the latter accept only single characters.
    ///
    /// # Errors
    ///
    /// Returns an [`ExtendError`] if a piece is blank, has spaces, is in the vocabulary, is given twice, or can never
    /// be one token, for example because the tokenizer separates letters and punctuation.
    pub fn extended<S: AsRef<str>>(
        &self,
        pieces: &[S],
        position: PiecePosition,
    ) -> Result<ExtendedTokenizer, ExtendError> {
        let pieces: Vec<&str> = pieces.iter().map(AsRef::as_ref).collect();
        check(&pieces)?;
        let (tokenizer, added) = match &self.inner {
            Inner::HuggingFace(inner) => {
                let extended = hugging_face::extended(inner, &self.to_json(), &pieces, position)?;
                (Self::from_json(&extended.json)?, extended.added)
            }
            Inner::Pieces(vocabulary) => {
                let (vocabulary, added) = vocabulary.extended(&pieces, position)?;
                (Self::from_pieces(vocabulary), added)
            }
        };
        let extended = ExtendedTokenizer { tokenizer, added };
        extended.check_use(&pieces, position)?;
        Ok(extended)
    }
}

impl ExtendedTokenizer {
    /// Checks that each piece is one token.
    fn check_use(&self, pieces: &[&str], position: PiecePosition) -> Result<(), ExtendError> {
        let n_before = self.tokenizer.vocab_size() - self.added.len();
        let is_one = |piece: &&&str| {
            let ids = self.tokenizer.encode(piece);
            ids.len() == 1 && ids[0] as usize >= n_before
        };
        match pieces.iter().find(|piece| !is_one(piece)) {
            // A piece that is found only within words is not found by itself.
            Some(piece) if position == PiecePosition::WordStart => Err(ExtendError::Unused {
                piece: (*piece).to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses pieces that no tokenizer can add.
fn check(pieces: &[&str]) -> Result<(), ExtendError> {
    if pieces.is_empty() {
        return Err(ExtendError::NoPieces);
    }
    let mut seen = HashSet::new();
    for &piece in pieces {
        let owned = || piece.to_owned();
        if piece.trim().is_empty() || piece.contains(char::is_whitespace) {
            return Err(ExtendError::Space { piece: owned() });
        }
        if piece.chars().nth(MAX_PIECE_CHARS).is_some() {
            return Err(ExtendError::TooLong {
                start: piece.chars().take(16).collect(),
                max: MAX_PIECE_CHARS,
            });
        }
        if SPECIAL_TOKENS.contains(&piece) || byte_of(piece).is_some() {
            return Err(ExtendError::Special { piece: owned() });
        }
        if !seen.insert(piece) {
            return Err(ExtendError::Twice { piece: owned() });
        }
    }
    Ok(())
}

/// The position in a word at which a new piece is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiecePosition {
    /// At the start of a word, marked `▁` in a vocabulary.
    WordStart,
    /// Within a word, not at its start.
    InWord,
}

/// A new token, and the tokens that spelled it before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// The token in the vocabulary's spelling.
    pub token: String,
    /// The ids that the tokenizer encoded it to before, without `<unk>`.
    pub parts: Vec<u32>,
}

/// Error of adding a piece to a vocabulary.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ExtendError {
    #[error("no piece to add; give at least one")]
    NoPieces,
    #[error(
        "`{piece}` is blank or has spaces, but a piece is a word or a part of a word; give each word separately"
    )]
    Space { piece: String },
    #[error("`{start}…` has more than {max} characters; give a shorter piece")]
    TooLong { start: String, max: usize },
    #[error("`{piece}` is reserved for a special token or a byte; leave it out")]
    Special { piece: String },
    #[error("`{piece}` is already in the vocabulary, as `{token}`; leave it out")]
    Known { piece: String, token: String },
    #[error("`{piece}` is given twice; give it once")]
    Twice { piece: String },
    #[error(
        "this tokenizer splits `{piece}` into `{}` before it looks for pieces; give these instead", parts.join("`, `")
    )]
    Divided { piece: String, parts: Vec<String> },
    #[error("this tokenizer drops all characters of `{piece}`; leave it out")]
    Dropped { piece: String },
    #[error(
        "this tokenizer would never use `{piece}`, because it tries other tokens first; leave it out"
    )]
    Unused { piece: String },
    #[error(
        "this kind of tokenizer cannot be extended; use one of transformer-train or SentencePiece"
    )]
    Kind,
    #[error("the extended tokenizer cannot be used")]
    Tokenizer(#[from] TokenizerError),
    #[error("the extended tokenizer cannot be used")]
    Pieces(#[from] SentencePieceError),
}
