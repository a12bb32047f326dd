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
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum TokenizerError {
    /// The training text has no words.
    #[error("the training text is empty; give at least one line that is not blank")]
    EmptyCorpus,
    /// The text has more distinct characters than the vocabulary can have tokens.
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
    /// A text cannot be a user-defined symbol.
    #[error("{symbol:?} cannot be a user-defined symbol: {reason}")]
    UserSymbol {
        /// The text, or its beginning.
        symbol: String,
        reason: &'static str,
    },
    /// A merge of a BPE model makes a token that is not in the vocabulary.
    #[error(
        "the merge of `{left}` and `{right}` makes no token of the vocabulary; restore the file"
    )]
    Merge { left: String, right: String },
    /// The file cannot be read.
    #[error("cannot read the tokenizer `{path}`")]
    Read { path: PathBuf, source: io::Error },
    /// The file is not a tokenizer, or not one that this crate can use.
    #[error("`{path}` is not a tokenizer that can be used here")]
    File { path: PathBuf, source: Box<Self> },
    /// The text is not a `tokenizer.json`.
    #[error("not a valid `tokenizer.json`; restore the file, or train the tokenizer again")]
    Parse(#[source] tokenizers::Error),
    /// The text is not JSON, has a duplicate key, or has keys or values that a `tokenizer.json` must not have.
    #[error("not a valid `tokenizer.json`; restore the file, or train the tokenizer again")]
    Json(#[source] JsonError),
    /// A special token is missing or has another id than the format requires.
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
    /// The ids have a gap.
    #[error("no token has the id {id}, although the vocabulary has {vocab_size} tokens")]
    MissingId {
        id: u32,
        /// Number of tokens.
        vocab_size: usize,
    },
    /// A SentencePiece model and its vocabulary do not match.
    #[error("not a valid SentencePiece tokenizer; restore the file, or import the model again")]
    Pieces(#[from] SentencePieceError),
    /// The tokenizer fails on some text.
    #[error("the tokenizer cannot encode text")]
    Encode(#[source] tokenizers::Error),
}
