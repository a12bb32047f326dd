//! [`SentencePieceError`]: the errors of models and their vocabularies.

/// The reason why a SentencePiece model cannot be used, or not with a vocabulary.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum SentencePieceError {
    #[error("it is not a SentencePiece model, or is truncated; download it again")]
    Damaged,
    #[error("the character map of its normalizer is damaged; download it again")]
    CharacterMap,
    #[error("piece {index} is `{text}`, which is empty or a duplicate; download it again")]
    Piece {
        /// Index of the piece, from 0.
        index: usize,
        text: String,
    },
    #[error("it has {n_found} unknown pieces instead of one; download it again")]
    Unknown { n_found: usize },
    #[error("it {what}, which is not supported; unigram and BPE models without that are")]
    Unsupported {
        /// The feature, as a predicate.
        what: &'static str,
    },
    #[error("{message}")]
    File { message: String },
    #[error(
        "the special token `{name}` has the id {id}, which is that of another one or outside of the {n_tokens} tokens \
         of the vocabulary"
    )]
    Special {
        name: &'static str,
        id: u32,
        n_tokens: usize,
    },
    #[error("the token `{token}` has two ids in the vocabulary")]
    Twice { token: String },
    #[error("the token `{token}` of a language is not in the vocabulary")]
    Language { token: String },
    #[error("the SentencePiece model in it cannot be used")]
    Model { source: Box<Self> },
    #[error("the SentencePiece model in it is not valid Base64; restore the file")]
    Base64,
}

impl SentencePieceError {
    /// Returns the error of an embedded model.
    pub(super) fn in_vocabulary(self) -> Self {
        let source = Box::new(self);
        Self::Model { source }
    }
}
