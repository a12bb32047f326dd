//! [`TokenizerError`]: the errors of training, reading or using a tokenizer.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::TokenizerKind;
use super::sentencepiece::SentencePieceError;
use crate::json::JsonError;

/// Error of training, reading or using a tokenizer.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum TokenizerError {
    #[error("the training text is empty; give at least one line that is not blank")]
    EmptyCorpus,
    #[error(
        "`vocab_size` ({vocab_size}) is too small: a {kind} vocabulary of this text needs the special tokens and every \
         character; choose at least {smallest}"
    )]
    VocabTooSmall {
        kind: TokenizerKind,
        /// The requested size, in tokens.
        vocab_size: usize,
        /// The smallest possible size for this text, in tokens.
        smallest: usize,
    },
    #[error("{symbol:?} cannot be a user-defined symbol: {reason}")]
    UserSymbol {
        /// The text, or its beginning.
        symbol: String,
        reason: &'static str,
    },
    #[error(
        "the merge of `{left}` and `{right}` makes no token of the vocabulary; restore the file"
    )]
    Merge { left: String, right: String },
    #[error("cannot read the tokenizer `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` is not a tokenizer that can be used here")]
    File { path: PathBuf, source: Box<Self> },
    #[error("not a valid `tokenizer.json`; restore the file, or train the tokenizer again")]
    Parse(#[source] tokenizers::Error),
    /// The text is not JSON, has a duplicate key, or has keys or values that a `tokenizer.json` must not have.
    #[error("not a valid `tokenizer.json`; restore the file, or train the tokenizer again")]
    Json(#[source] JsonError),
    #[error(
        "the token `{token}` must have the id {expected}, but {}; train the tokenizer with this program",
        found.map_or("is missing".to_owned(), |id| format!("has {id}"))
    )]
    SpecialToken {
        token: &'static str,
        expected: u32,
        /// Its id, if any.
        found: Option<u32>,
    },
    #[error("no token has the id {id}, although the vocabulary has {vocab_size} tokens")]
    MissingId {
        id: u32,
        /// Number of tokens.
        vocab_size: usize,
    },
    #[error("not a valid SentencePiece tokenizer; restore the file, or import the model again")]
    Pieces(#[from] SentencePieceError),
    #[error("the tokenizer cannot encode text")]
    Encode(#[source] tokenizers::Error),
}
