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
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum MarianError {
    #[error(
        "`{path}` is missing; a Marian model has config.json, vocab.json, source.spm, target.spm and \
         model.safetensors or pytorch_model.bin, a multilingual one sentencepiece.bpe.model, \
         Pegasus spiece.model, and BART vocab.json and merges.txt"
    )]
    Missing { path: PathBuf },
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` cannot be parsed; download it again")]
    Json {
        path: PathBuf,
        /// The key or the position, and the cause.
        source: JsonError,
    },
    #[error(
        "`{path}` has {n_values} values, but the model in config.json has {n_parameters} parameters; download both again"
    )]
    TooSmall {
        path: PathBuf,
        n_parameters: usize,
        n_values: usize,
    },
    #[error(
        "`{path}` describes a model of the type `{found}`; only `marian`, `m2m_100`, `mbart`, `bart` and `pegasus` can be imported"
    )]
    ModelType { path: PathBuf, found: String },
    #[error("`{path}`: `{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        path: PathBuf,
        key: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error("`{path}` is not a valid configuration")]
    Config { path: PathBuf, source: ConfigError },
    #[error(
        "`{path}` has its own SentencePiece model; leave out --spm, which is for folders of CTranslate2 without one"
    )]
    UnusedPieces { path: PathBuf },
    #[error(
        "`{path}` has no list of languages in tokenizer.json, tokenizer_config.json, added_tokens.json or \
         special_tokens_map.json; download these files too"
    )]
    NoLanguages { path: PathBuf },
    #[error(
        "`{path}` adds the token `{token}`; a BART with tokens outside of its vocabulary cannot be imported"
    )]
    AddedToken { path: PathBuf, token: String },
    #[error(
        "`{path}` has {found} tokens, but `{key}` in config.json is {expected}; take both from one model"
    )]
    VocabSize {
        path: PathBuf,
        found: usize,
        key: &'static str,
        expected: usize,
    },
    #[error("`{path}` has no token with the id {id}, or two of them; download it again")]
    VocabId { path: PathBuf, id: usize },
    #[error("`{path}` has no token `{token}`; download it again")]
    NoToken { path: PathBuf, token: &'static str },
    #[error(
        "`{path}` gives `{token}` the id {found}, but `{key}` in config.json is {expected}; take both from one \
         model"
    )]
    SpecialId {
        path: PathBuf,
        token: &'static str,
        found: u32,
        key: &'static str,
        expected: u32,
    },
    #[error("`{path}` cannot be used")]
    Vocabulary {
        path: PathBuf,
        source: SentencePieceError,
    },
    /// A tokenizer that this program exported cannot be used.
    #[error(transparent)]
    Tokenizer(TokenizerError),
    #[error("`{path}` cannot be used")]
    Pieces {
        path: PathBuf,
        source: SentencePieceError,
    },
    #[error("`{path}` cannot be imported")]
    Binary { path: PathBuf, source: BinaryError },
    #[error("`{path}` cannot be imported")]
    CTranslate2 {
        path: PathBuf,
        source: CTranslate2Error,
    },
    /// The weights cannot be read.
    #[error(transparent)]
    Weights(#[from] StateDictError),
    #[error(
        "`{name}` in `{path}` has the shape {found:?}; with config.json it must be {expected:?}"
    )]
    Shape {
        path: PathBuf,
        name: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    #[error("`{path}`: {found}")]
    NonFinite { path: PathBuf, found: NonFinite },
    #[error("`{first}` and `{second}` in `{path}` differ, but config.json ties them")]
    Shared {
        path: PathBuf,
        first: String,
        second: String,
    },
    #[error("`{name}` in `{path}` is not a table of sinusoids, as in Marian's models")]
    Positions { path: PathBuf, name: String },
    #[error(
        "`{}` does not hold the weights of the model in config.json: {} tensors differ, the first: {}",
        path.display(),
        misfits.len(),
        misfits.first().map(ToString::to_string).unwrap_or_default()
    )]
    Tensors { path: PathBuf, misfits: Vec<Misfit> },
    #[error("`{path}` contains `{name}`, which is not a tensor; save the state dict alone")]
    NotATensor { path: PathBuf, name: String },
    #[error(
        "`{path}` has no `{name}` of the shape {expected}; write it with `benchmarks/marian_reference.py`"
    )]
    Reference {
        path: PathBuf,
        name: &'static str,
        /// Its shape, in words.
        expected: &'static str,
    },
    #[error("`{path}` has the token {id}, which the model does not have")]
    ReferenceToken {
        path: PathBuf,
        /// The token's id in Marian's vocabulary.
        id: i64,
    },
}
