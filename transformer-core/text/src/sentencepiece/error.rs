//! [`SentencePieceError`]: the errors of models and their vocabularies.

/// The reason why a SentencePiece model cannot be used, or not with a vocabulary.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum SentencePieceError {
    /// The file is not a SentencePiece model, or truncated.
    #[error("it is not a SentencePiece model, or is truncated; download it again")]
    Damaged,
    /// The character map is damaged.
    #[error("the character map of its normalizer is damaged; download it again")]
    CharacterMap,
    /// A piece is empty or a duplicate.
    #[error("piece {index} is `{text}`, which is empty or a duplicate; download it again")]
    Piece {
        /// Index of the piece, from 0.
        index: usize,
        text: String,
    },
    /// The model does not have exactly one unknown piece.
    #[error("it has {n_found} unknown pieces instead of one; download it again")]
    Unknown { n_found: usize },
    /// The model needs an unsupported feature.
    #[error("it {what}, which is not supported; unigram and BPE models without that are")]
    Unsupported {
        /// The feature, as a predicate.
        what: &'static str,
    },
    /// The file of a vocabulary has keys or values that it must not have.
    #[error("{message}")]
    File { message: String },
    /// A special id is outside the vocabulary or used twice.
    #[error(
        "the special token `{name}` has the id {id}, which is that of another one or outside of the {n_tokens} tokens \
         of the vocabulary"
    )]
    Special {
        name: &'static str,
        id: u32,
        n_tokens: usize,
    },
    /// A token occurs twice in a vocabulary.
    #[error("the token `{token}` has two ids in the vocabulary")]
    Twice { token: String },
    /// The token of a language is not in the vocabulary.
    #[error("the token `{token}` of a language is not in the vocabulary")]
    Language { token: String },
    /// The model that is embedded in a vocabulary cannot be parsed.
    #[error("the SentencePiece model in it cannot be used")]
    Model { source: Box<Self> },
    /// The embedded model is not Base64.
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
