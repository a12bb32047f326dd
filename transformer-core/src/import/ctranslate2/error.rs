//! [`CTranslate2Error`]: the errors of importing a model of CTranslate2.

use thiserror::Error;

use crate::config::ConfigError;
use crate::import::ImportError;

/// Error in importing a model of CTranslate2. The file is named by
/// [`MarianError::CTranslate2`](super::super::MarianError::CTranslate2).
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum CTranslate2Error {
    /// The version is not supported.
    #[error(
        "it has the version {found}; only the versions 1 to 6 of CTranslate2's format can be imported"
    )]
    Version { found: u32 },
    /// The file has a model of another kind.
    #[error(
        "it is a `{spec}` of revision {revision}; only a `TransformerSpec` up to revision 7, an encoder-decoder, can \
         be imported"
    )]
    Spec { spec: String, revision: u32 },
    /// The file is cut off or inconsistent.
    #[error("{fault}; get the file again")]
    Damaged {
        /// The fault, with the variable.
        fault: String,
    },
    /// A variable is missing.
    #[error("it has no `{name}` of the right shape, which an encoder-decoder has")]
    Missing { name: String },
    /// A setting has a value that is not supported.
    #[error("`{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        key: String,
        found: String,
        expected: &'static str,
    },
    /// The vocabulary has another size than the model.
    #[error("it has {found} tokens, but the model has {expected}; take both from one model")]
    VocabSize { found: usize, expected: usize },
    /// The vocabulary lacks a special token.
    #[error("it has no token `{token}`, which is the model's `{key}`; take both from one model")]
    NoToken { key: &'static str, token: String },
    /// No file has the pieces of words.
    #[error(
        "it has no SentencePiece model, without which text cannot be split; name the model's with `--spm FILE`"
    )]
    NoPieces,
    /// The package has the codes of subword-nmt.
    #[error(
        "it splits words by `bpe.model` of subword-nmt, which cannot be imported; packages with `sentencepiece.model` \
         can"
    )]
    SubwordNmt,
    /// The pieces and the vocabulary do not belong together.
    #[error(
        "{n_known} of the {n_pieces} pieces of `{pieces}` are in it, fewer than half; give the SentencePiece model of \
         this model"
    )]
    OtherPieces {
        pieces: String,
        n_pieces: usize,
        /// Number of pieces in the vocabulary.
        n_known: usize,
    },
    /// The settings are not valid.
    #[error("its settings are not valid")]
    Config(#[from] ConfigError),
    /// The variables do not match the settings.
    #[error("{n_misfits} variables do not match its settings, the first: {first}")]
    Tensors { n_misfits: usize, first: String },
    /// The model cannot be built.
    #[error("its variables do not match its settings")]
    Import(#[source] ImportError),
}

impl CTranslate2Error {
    /// Returns the error of a setting that is not supported.
    pub(super) fn setting(key: &str, found: &impl ToString, expected: &'static str) -> Self {
        Self::Setting {
            key: key.to_owned(),
            found: found.to_string(),
            expected,
        }
    }

    /// Returns the error of a variable that is missing.
    pub(super) fn missing(name: &str) -> Self {
        Self::Missing {
            name: name.to_owned(),
        }
    }
}
