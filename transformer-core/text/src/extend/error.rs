//! [`ExtendError`]: the errors of adding pieces to a vocabulary.

use thiserror::Error;

use crate::TokenizerError;
use crate::sentencepiece::SentencePieceError;

/// Error of adding a piece to a vocabulary.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum ExtendError {
    /// No piece was given.
    #[error("no piece to add; give at least one")]
    NoPieces,
    /// A piece is blank or has spaces.
    #[error(
        "`{piece}` is blank or has spaces, but a piece is a word or a part of a word; give each word separately"
    )]
    Space { piece: String },
    /// A piece is too long.
    #[error("`{start}…` has more than {max} characters; give a shorter piece")]
    TooLong { start: String, max: usize },
    /// A piece has the spelling of a special token or of the token of a byte.
    #[error("`{piece}` is reserved for a special token or a byte; leave it out")]
    Special { piece: String },
    /// A piece is in the vocabulary.
    #[error("`{piece}` is already in the vocabulary, as `{token}`; leave it out")]
    Known { piece: String, token: String },
    /// A piece is given twice.
    #[error("`{piece}` is given twice; give it once")]
    Twice { piece: String },
    /// The tokenizer splits the piece before it looks for tokens.
    #[error(
        "this tokenizer splits `{piece}` into `{}` before it looks for pieces; give these instead", parts.join("`, `")
    )]
    Divided { piece: String, parts: Vec<String> },
    /// The tokenizer drops all characters of a piece.
    #[error("this tokenizer drops all characters of `{piece}`; leave it out")]
    Dropped { piece: String },
    /// A tokenizer with the piece does not use it.
    #[error(
        "this tokenizer would never use `{piece}`, because it tries other tokens first; leave it out"
    )]
    Unused { piece: String },
    /// The tokenizer is of another program.
    #[error(
        "this kind of tokenizer cannot be extended; use one of transformer-train or SentencePiece"
    )]
    Kind,
    /// The extended file is not a tokenizer.
    #[error("the extended tokenizer cannot be used")]
    Tokenizer(#[from] TokenizerError),
    /// The extended SentencePiece model cannot be used.
    #[error("the extended tokenizer cannot be used")]
    Pieces(#[from] SentencePieceError),
}
