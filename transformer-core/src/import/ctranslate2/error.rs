//! [`CTranslate2Error`]: the errors of importing a model of CTranslate2.

use std::io;

use thiserror::Error;

use crate::config::ConfigError;
use crate::import::ImportError;

/// Error in importing a model of CTranslate2. The file is named by
/// [`MarianError::CTranslate2`](super::super::MarianError::CTranslate2).
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum CTranslate2Error {
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error(
        "it has the version {found}; only the versions 1 to 6 of CTranslate2's format can be imported"
    )]
    Version { found: u32 },
    #[error(
        "it is a `{spec}` of revision {revision}; only a `TransformerSpec` up to revision 7, an encoder-decoder, can \
         be imported"
    )]
    Spec { spec: String, revision: u32 },
    #[error("{fault}; get the file again")]
    Damaged { fault: String },
    #[error("it has no `{name}` of the right shape, which an encoder-decoder has")]
    Missing { name: String },
    #[error("`{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        key: String,
        found: String,
        expected: &'static str,
    },
    #[error("it has {found} tokens, but the model has {expected}; take both from one model")]
    VocabSize { found: usize, expected: usize },
    #[error("it has no token `{token}`, which is the model's `{key}`; take both from one model")]
    NoToken { key: &'static str, token: String },
    #[error(
        "it has no SentencePiece model, without which text cannot be split; name the model's with `--spm FILE`"
    )]
    NoPieces,
    #[error(
        "it splits words by `bpe.model` of subword-nmt, which cannot be imported; packages with `sentencepiece.model` \
         can"
    )]
    SubwordNmt,
    #[error(
        "{n_known} of the {n_pieces} pieces of `{pieces}` are in it, fewer than half; give the SentencePiece model of \
         this model"
    )]
    OtherPieces {
        pieces: String,
        n_pieces: usize,
        n_known: usize,
    },
    #[error("its settings are not valid")]
    Config(#[from] ConfigError),
    #[error("{n_misfits} variables do not match its settings, the first: {first}")]
    Tensors { n_misfits: usize, first: String },
    #[error("its variables do not match its settings")]
    Import(#[source] ImportError),
}

impl CTranslate2Error {
    pub(super) fn setting(key: &str, found: &impl ToString, expected: &'static str) -> Self {
        Self::Setting {
            key: key.to_owned(),
            found: found.to_string(),
            expected,
        }
    }

    pub(super) fn missing(name: &str) -> Self {
        Self::Missing {
            name: name.to_owned(),
        }
    }
}
