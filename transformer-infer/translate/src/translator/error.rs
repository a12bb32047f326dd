//! [`TranslatorError`]: the errors of a translation, with their remedies.

use std::path::PathBuf;

use serde_json::Value;
use transformer_core::directory::DirectoryError;
use transformer_core::json::JsonError;
use transformer_core::text::DirectionError;
use transformer_core::{ComputePrecision, LoadError};

use transformer_search::SearchError;

/// Error of a translation, with its remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranslatorError {
    /// The model directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The weights do not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The device computes only in its own number format.
    #[error(
        "precision {precision} is available only on CPUs, and the device is {device}; choose a CPU backend, such as \
         flex, or leave the precision out"
    )]
    Precision {
        /// The requested precision.
        precision: ComputePrecision,
        /// The device.
        device: String,
    },
    /// A tokenizer has more tokens than the model.
    #[error(
        "the tokenizer has {found} tokens, more than the model's `{field}` = {expected}; use the tokenizer that the \
         model was trained with"
    )]
    VocabSize {
        /// The field of the config.
        field: &'static str,
        /// The vocabulary size of the tokenizer.
        found: usize,
        /// The vocabulary size in the config.
        expected: usize,
    },
    /// A language is missing or unknown.
    #[error(transparent)]
    Direction(#[from] DirectionError),
    /// The search settings are not valid.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The manifest of the model has search settings unknown to this program.
    #[error(
        "this version cannot read `training.search` in `{}`; use the version that wrote it, or remove the key",
        path.join("manifest.json").display()
    )]
    StoredSearch {
        /// The model directory.
        path: PathBuf,
        /// The error of the parser.
        source: JsonError,
    },
    /// The search settings in the manifest of the model are not valid.
    #[error(
        "`training.search` in `{}` is not a valid search; correct it, or remove the key",
        path.join("manifest.json").display()
    )]
    InvalidStoredSearch {
        /// The model directory.
        path: PathBuf,
        /// The setting at fault.
        source: SearchError,
    },
    /// The models of an ensemble have different tokenizers.
    #[error(
        "`{}` and `{}` have different tokenizers; an ensemble needs models with the same one",
        other.display(), first.display()
    )]
    Tokenizers {
        /// The directory of the first model.
        first: PathBuf,
        /// The directory of the model that differs from it.
        other: PathBuf,
    },
    /// The prefix of a translation has characters that are not in the vocabulary.
    #[error(
        "the prefix `{prefix}` for line {line} has characters that the vocabulary lacks; leave them out"
    )]
    Prefix {
        /// Number of the line among those given, from 1.
        line: usize,
        /// The prefix.
        prefix: String,
    },
    /// The prefix of a translation reaches the length limit.
    #[error(
        "the prefix for line {line} has at least {most} tokens, but its translation may have at most {most}; raise \
         --max-len, or shorten the prefix"
    )]
    LongPrefix {
        /// Number of the line among those given, from 1.
        line: usize,
        /// Maximum number of tokens of the translation, including EOS.
        most: usize,
    },
    /// The model computed probabilities that are NaN or infinite.
    #[error("the model computes NaN for line {line}; its weights are broken: {}", origin.remedy())]
    NotANumber {
        /// Number of the line among those given, from 1.
        line: usize,
        /// The origin of the model.
        origin: ModelOrigin,
    },
    /// The translation panicked, because of a bug in this program.
    #[error(
        "this program failed to translate line {line}: {message}; report this bug with the line, and leave the line \
         out"
    )]
    Panic {
        /// Number of the line among those given, from 1.
        line: usize,
        /// The message of the panic.
        message: String,
    },
}

/// The origin of a model, by its manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelOrigin {
    /// The program transformer-train.
    Trained,
    /// A file of another program, which was imported.
    Imported,
    /// Unknown: the model was made in memory, or by a user's own program.
    #[default]
    Unknown,
}

impl ModelOrigin {
    /// Reads the origin from the `training` of a manifest.
    pub(super) fn of(training: &Value) -> Self {
        match training["program"].as_str() {
            Some(program) if program.starts_with("transformer-train") => Self::Trained,
            Some(program) if program.ends_with(" import") => Self::Imported,
            _ => Self::Unknown,
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::Trained => "train again, with a lower learning rate if it happens again",
            Self::Imported => "get the original again, and import it again",
            Self::Unknown => "make the model again",
        }
    }
}

impl TranslatorError {
    /// Returns the number of the faulty line among those given, from 1; `None` if the error is not about a line.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::NotANumber { line, .. }
            | Self::Panic { line, .. }
            | Self::Prefix { line, .. }
            | Self::LongPrefix { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// Changes the line number: `to_input` maps the number among the given lines to the number in the whole input, both
    /// from 1.
    #[must_use]
    pub fn with_line(self, to_input: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Self::NotANumber { line, origin } => Self::NotANumber {
                line: to_input(line),
                origin,
            },
            Self::Panic { line, message } => Self::Panic {
                line: to_input(line),
                message,
            },
            Self::Prefix { line, prefix } => Self::Prefix {
                line: to_input(line),
                prefix,
            },
            Self::LongPrefix { line, most } => Self::LongPrefix {
                line: to_input(line),
                most,
            },
            other => other,
        }
    }
}
