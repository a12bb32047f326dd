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
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum MarianError {
    /// A file is missing.
    #[error(
        "`{path}` is missing; a Marian model has config.json, vocab.json, source.spm, target.spm and \
         model.safetensors or pytorch_model.bin, a multilingual one sentencepiece.bpe.model, \
         Pegasus spiece.model, and BART vocab.json and merges.txt"
    )]
    Missing { path: PathBuf },
    /// A file cannot be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    /// A file is not valid JSON, has a key twice, or lacks required fields.
    #[error("`{path}` cannot be parsed; download it again")]
    Json {
        path: PathBuf,
        /// The key or the position, and the cause.
        source: JsonError,
    },
    /// The file is much smaller than the model of `config.json`.
    #[error(
        "`{path}` has {n_values} values, but the model in config.json has {n_parameters} parameters; download both again"
    )]
    TooSmall {
        path: PathBuf,
        n_parameters: usize,
        n_values: usize,
    },
    /// The model is of another type.
    #[error(
        "`{path}` describes a model of the type `{found}`; only `marian`, `m2m_100`, `mbart`, `bart` and `pegasus` can be imported"
    )]
    ModelType { path: PathBuf, found: String },
    /// A setting has a value that is not supported.
    #[error("`{path}`: `{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        path: PathBuf,
        key: &'static str,
        found: String,
        expected: &'static str,
    },
    /// The settings are not valid.
    #[error("`{path}` is not a valid configuration")]
    Config { path: PathBuf, source: ConfigError },
    /// SentencePiece models are given for a folder that has its own.
    #[error(
        "`{path}` has its own SentencePiece model; leave out --spm, which is for folders of CTranslate2 without one"
    )]
    UnusedPieces { path: PathBuf },
    /// A multilingual model has no list of languages.
    #[error(
        "`{path}` has no list of languages in tokenizer.json, tokenizer_config.json, added_tokens.json or \
         special_tokens_map.json; download these files too"
    )]
    NoLanguages { path: PathBuf },
    /// A BART has a token that its vocabulary lacks.
    #[error(
        "`{path}` adds the token `{token}`; a BART with tokens outside of its vocabulary cannot be imported"
    )]
    AddedToken { path: PathBuf, token: String },
    /// The sizes of the vocabulary and the model differ.
    #[error(
        "`{path}` has {found} tokens, but `{key}` in config.json is {expected}; take both from one model"
    )]
    VocabSize {
        path: PathBuf,
        found: usize,
        /// The key of the model's size.
        key: &'static str,
        expected: usize,
    },
    /// The ids of a vocabulary have a gap or a duplicate.
    #[error("`{path}` has no token with the id {id}, or two of them; download it again")]
    VocabId { path: PathBuf, id: usize },
    /// The vocabulary lacks a special token.
    #[error("`{path}` has no token `{token}`; download it again")]
    NoToken { path: PathBuf, token: &'static str },
    /// The vocabulary and the settings have different ids for a special token.
    #[error(
        "`{path}` gives `{token}` the id {found}, but `{key}` in config.json is {expected}; take both from one \
         model"
    )]
    SpecialId {
        path: PathBuf,
        token: &'static str,
        found: u32,
        /// The key of the settings.
        key: &'static str,
        expected: u32,
    },
    /// A vocabulary cannot be used.
    #[error("`{path}` cannot be used")]
    Vocabulary {
        path: PathBuf,
        source: SentencePieceError,
    },
    /// A tokenizer that this program exported cannot be used.
    #[error(transparent)]
    Tokenizer(TokenizerError),
    /// A SentencePiece model cannot be used.
    #[error("`{path}` cannot be used")]
    Pieces {
        path: PathBuf,
        source: SentencePieceError,
    },
    /// A model in Marian's binary format cannot be imported.
    #[error("`{path}` cannot be imported")]
    Binary { path: PathBuf, source: BinaryError },
    /// A model of CTranslate2, or one of its files, cannot be imported.
    #[error("`{path}` cannot be imported")]
    CTranslate2 {
        path: PathBuf,
        source: CTranslate2Error,
    },
    /// The weights cannot be read.
    #[error(transparent)]
    Weights(#[from] StateDictError),
    /// The shape of a tensor differs from the settings.
    #[error(
        "`{name}` in `{path}` has the shape {found:?}; with config.json it must be {expected:?}"
    )]
    Shape {
        path: PathBuf,
        name: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    /// A tensor has a value that is NaN or infinite in single precision.
    #[error("`{path}`: {found}")]
    NonFinite { path: PathBuf, found: NonFinite },
    /// Two matrices that the settings tie differ in the file.
    #[error("`{first}` and `{second}` in `{path}` differ, but config.json ties them")]
    Shared {
        path: PathBuf,
        first: String,
        /// The one that it should equal.
        second: String,
    },
    /// The positions in the file are not sinusoids.
    #[error("`{name}` in `{path}` is not a table of sinusoids, as in Marian's models")]
    Positions { path: PathBuf, name: String },
    /// The tensors do not match the settings.
    #[error(
        "`{}` does not hold the weights of the model in config.json: {} tensors differ, the first: {}",
        path.display(),
        misfits.len(),
        misfits.first().map(ToString::to_string).unwrap_or_default()
    )]
    Tensors { path: PathBuf, misfits: Vec<Misfit> },
    /// A pickle contains more than tensors.
    #[error("`{path}` contains `{name}`, which is not a tensor; save the state dict alone")]
    NotATensor { path: PathBuf, name: String },
    /// A reference lacks a tensor.
    #[error(
        "`{path}` has no `{name}` of the shape {expected}; write it with `benchmarks/marian_reference.py`"
    )]
    Reference {
        path: PathBuf,
        name: &'static str,
        /// Its shape, in words.
        expected: &'static str,
    },
    /// A reference belongs to another vocabulary.
    #[error("`{path}` has the token {id}, which the model does not have")]
    ReferenceToken {
        path: PathBuf,
        /// The token's id in Marian's vocabulary.
        id: i64,
    },
}
