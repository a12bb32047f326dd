//! [`TranslatorError`]: why there is no translation, and what to do.

use std::path::PathBuf;

use transformer_core::LoadError;
use transformer_core::directory::DirectoryError;

use crate::search::SearchError;

/// Says why there is no translation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranslatorError {
    /// The directory holds no model that can be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The weights do not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A tokenizer belongs to another model.
    #[error(
        "the tokenizer has {found} tokens, more than the model's `{field}` = {expected}; use the tokenizer that the \
         model was trained with"
    )]
    VocabSize {
        /// The field of the configuration.
        field: &'static str,
        /// The size of the vocabulary, in tokens.
        found: usize,
        /// The size in the configuration, in tokens.
        expected: usize,
    },
    /// The search cannot be done as asked.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The search that a model was made for is none that this program knows.
    #[error(
        "`training.search` in `{}` is no search that this program knows; take the program that wrote it, or \
         take the key out", path.join("manifest.json").display()
    )]
    StoredSearch {
        /// The model directory.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Models that should predict together do not speak of the same tokens.
    #[error(
        "`{}` has another tokenizer than `{}`; an ensemble needs models with the same one",
        other.display(), first.display()
    )]
    Tokenizers {
        /// The directory of the first model.
        first: PathBuf,
        /// The directory of the model that differs from it.
        other: PathBuf,
    },
    /// The beginning asked for has characters that the model never learnt to write.
    #[error(
        "the prefix `{prefix}` for line {line} has characters that the vocabulary lacks; leave them out"
    )]
    Prefix {
        /// The line's place among those given, counted from 1.
        line: usize,
        /// What the translation should begin with.
        prefix: String,
    },
    /// The beginning asked for is as long as the translation may get.
    #[error(
        "the prefix for line {line} has {n_tokens} tokens, and its translation may have {most}; raise --max-len, or \
         shorten it"
    )]
    LongPrefix {
        /// The line's place among those given, counted from 1.
        line: usize,
        /// Number of tokens of the prefix.
        n_tokens: usize,
        /// Most tokens of the translation, its end included.
        most: usize,
    },
    /// The model computed NaN or infinity where probabilities belong.
    #[error(
        "the model computes NaN for line {line}; its weights are of no use: train again, with a lower \
         learning rate if it happens again"
    )]
    NotANumber {
        /// The line's place among those given, counted from 1.
        line: usize,
    },
}

impl TranslatorError {
    /// Names another line: `place` turns that of the lines given, counted from 1, into that of the whole
    /// input.
    #[must_use]
    pub fn with_line(self, place: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Self::NotANumber { line } => Self::NotANumber { line: place(line) },
            Self::Prefix { line, prefix } => Self::Prefix {
                line: place(line),
                prefix,
            },
            Self::LongPrefix {
                line,
                n_tokens,
                most,
            } => Self::LongPrefix {
                line: place(line),
                n_tokens,
                most,
            },
            other => other,
        }
    }
}
