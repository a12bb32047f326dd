//! [`MarianError`]: the errors of importing a Marian model.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::binary::BinaryError;
use crate::config::ConfigError;
use crate::import::{CTranslate2Error, Misfit, NonFinite, StateDictError};
use crate::json::JsonError;
use crate::text::TokenizerError;
use crate::text::sentencepiece::SentencePieceError;

/// Error in importing a Marian model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MarianError {
    /// A file is missing.
    #[error(
        "`{}` is missing; a Marian model has config.json, vocab.json, source.spm, target.spm and \
         model.safetensors or pytorch_model.bin, and a multilingual one sentencepiece.bpe.model",
        path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is not valid JSON, has a key twice, or lacks required fields.
    #[error("`{}` cannot be parsed; download it again", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The key or the position, and the cause.
        source: JsonError,
    },
    /// The file is much smaller than the model of `config.json`.
    #[error(
        "`{}` has {n_values} values, but the model in config.json has {n_parameters} parameters; download both again",
        path.display()
    )]
    TooSmall {
        /// The file with the weights.
        path: PathBuf,
        /// Number of parameters of the model.
        n_parameters: usize,
        /// Number of values in the file.
        n_values: usize,
    },
    /// The model is of another type.
    #[error(
        "`{}` describes a model of the type `{found}`; only `marian`, `m2m_100` and `mbart` can be imported",
        path.display()
    )]
    ModelType {
        /// The file.
        path: PathBuf,
        /// Its `model_type`.
        found: String,
    },
    /// A setting has a value that is not supported.
    #[error("`{}`: `{key}` is {found}, which cannot be imported; {expected} can", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// The supported values.
        expected: &'static str,
    },
    /// The settings are not valid.
    #[error("`{}` is not a valid configuration", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ConfigError,
    },
    /// SentencePiece models are given for a folder that has its own.
    #[error(
        "`{}` has its own SentencePiece model; leave out --spm, which is for folders of CTranslate2 without one",
        path.display()
    )]
    UnusedPieces {
        /// The folder or the file.
        path: PathBuf,
    },
    /// A multilingual model has no list of languages.
    #[error(
        "`{}` has no list of languages in tokenizer.json, tokenizer_config.json, added_tokens.json or \
         special_tokens_map.json; download these files too",
        path.display()
    )]
    NoLanguages {
        /// The folder.
        path: PathBuf,
    },
    /// The sizes of the vocabulary and the model differ.
    #[error(
        "`{}` has {found} tokens, but `{key}` in config.json is {expected}; take both from one model",
        path.display()
    )]
    VocabSize {
        /// The vocabulary.
        path: PathBuf,
        /// Number of tokens.
        found: usize,
        /// The key of the model's size.
        key: &'static str,
        /// The model's size.
        expected: usize,
    },
    /// The ids of a vocabulary have a gap or a duplicate.
    #[error("`{}` has no token with the id {id}, or two of them; download it again", path.display())]
    VocabId {
        /// The vocabulary.
        path: PathBuf,
        /// The first id that is wrong.
        id: usize,
    },
    /// The vocabulary lacks a special token.
    #[error("`{}` has no token `{token}`; download it again", path.display())]
    NoToken {
        /// The vocabulary.
        path: PathBuf,
        /// The token.
        token: &'static str,
    },
    /// The vocabulary and the settings have different ids for a special token.
    #[error(
        "`{}` gives `{token}` the id {found}, but `{key}` in config.json is {expected}; take both from one \
         model",
        path.display()
    )]
    SpecialId {
        /// The vocabulary.
        path: PathBuf,
        /// The token.
        token: &'static str,
        /// Its id in the vocabulary.
        found: u32,
        /// The key of the settings.
        key: &'static str,
        /// Its id in the settings.
        expected: u32,
    },
    /// A vocabulary cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: SentencePieceError,
    },
    /// A tokenizer that this program exported cannot be used.
    #[error(transparent)]
    Tokenizer(TokenizerError),
    /// A SentencePiece model cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Pieces {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: SentencePieceError,
    },
    /// A model in Marian's binary format cannot be imported.
    #[error("`{}` cannot be imported", path.display())]
    Binary {
        /// The file, or the folder.
        path: PathBuf,
        /// The cause.
        source: BinaryError,
    },
    /// A model of CTranslate2, or one of its files, cannot be imported.
    #[error("`{}` cannot be imported", path.display())]
    CTranslate2 {
        /// The file, the folder or the package.
        path: PathBuf,
        /// The cause.
        source: CTranslate2Error,
    },
    /// The weights cannot be read.
    #[error(transparent)]
    Weights(#[from] StateDictError),
    /// The shape of a tensor differs from the settings.
    #[error(
        "`{name}` in `{}` has the shape {found:?}; with config.json it must be {expected:?}",
        path.display()
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The required shape.
        expected: Vec<usize>,
    },
    /// A tensor has a value that is NaN or infinite in single precision.
    #[error("`{}`: {found}", path.display())]
    NonFinite {
        /// The file.
        path: PathBuf,
        /// The value.
        found: NonFinite,
    },
    /// Two matrices that the settings tie differ in the file.
    #[error(
        "`{first}` and `{second}` in `{}` differ, but config.json ties them",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
        /// A tensor.
        first: String,
        /// The one that it should equal.
        second: String,
    },
    /// The positions in the file are not sinusoids.
    #[error("`{name}` in `{}` is not a table of sinusoids, as in Marian's models", path.display())]
    Positions {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
    },
    /// The tensors do not match the settings.
    #[error(
        "`{}` does not hold the weights of the model in config.json: {} tensors differ, the first: {}",
        path.display(),
        misfits.len(),
        misfits.first().map(ToString::to_string).unwrap_or_default()
    )]
    Tensors {
        /// The file.
        path: PathBuf,
        /// The differences.
        misfits: Vec<Misfit>,
    },
    /// A pickle contains more than tensors.
    #[error("`{}` contains `{name}`, which is not a tensor; save the state dict alone", path.display())]
    NotATensor {
        /// The file.
        path: PathBuf,
        /// Name of the entry.
        name: String,
    },
    /// A reference lacks a tensor.
    #[error(
        "`{}` has no `{name}` of the shape {expected}; write it with `benchmarks/marian_reference.py`",
        path.display()
    )]
    Reference {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: &'static str,
        /// Its shape, in words.
        expected: &'static str,
    },
    /// A reference belongs to another vocabulary.
    #[error("`{}` has the token {id}, which the model does not have", path.display())]
    ReferenceToken {
        /// The file.
        path: PathBuf,
        /// The token's id in Marian's vocabulary.
        id: i64,
    },
}
