//! [`MarianError`]: why a folder gives no model.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::config::ConfigError;
use crate::import::{Misfit, StateDictError};
use crate::text::TokenizerError;
use crate::text::sentencepiece::{PieceVocabularyError, SentencePieceError};

/// Says why a folder gives no model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MarianError {
    /// A file is not there.
    #[error(
        "`{}` is missing; a Marian model has config.json, vocab.json, source.spm, target.spm and \
         model.safetensors or pytorch_model.bin",
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
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the JSON that it should be.
    #[error("`{}` cannot be understood; download it again", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The file has far fewer numbers than the model of `config.json`.
    #[error(
        "`{}` has {n_numbers} numbers, and the model in config.json has {n_parameters}; download both again",
        path.display()
    )]
    TooFew {
        /// The file with the weights.
        path: PathBuf,
        /// How many numbers the model has.
        n_parameters: usize,
        /// How many numbers there are.
        n_numbers: usize,
    },
    /// The model is of another kind.
    #[error("`{}` describes a model of the type `{found}`; only `marian` can be imported", path.display())]
    ModelType {
        /// The file.
        path: PathBuf,
        /// Its `model_type`.
        found: String,
    },
    /// A setting asks for what cannot be done here.
    #[error("`{}`: `{key}` is {found}, which cannot be imported; {expected} can", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What could be imported.
        expected: &'static str,
    },
    /// The settings describe no model.
    #[error("`{}` describes no model", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ConfigError,
    },
    /// The vocabulary is not of this model.
    #[error(
        "`{}` has {found} tokens, but `{key}` in config.json is {expected}; take both from one model",
        path.display()
    )]
    VocabSize {
        /// The vocabulary.
        path: PathBuf,
        /// How many tokens it has.
        found: usize,
        /// The key of the size that the model has.
        key: &'static str,
        /// This size.
        expected: usize,
    },
    /// The ids of a vocabulary are not 0, 1, 2 and so on.
    #[error("`{}` gives no token the id {id}, or two of them; download it again", path.display())]
    VocabId {
        /// The vocabulary.
        path: PathBuf,
        /// The first id that is wrong.
        id: usize,
    },
    /// A special token has no id.
    #[error("`{}` has no token `{token}`; download it again", path.display())]
    NoToken {
        /// The vocabulary.
        path: PathBuf,
        /// The token.
        token: &'static str,
    },
    /// The vocabulary and the settings differ in what is special.
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
        /// Its id there.
        found: u32,
        /// The key of the settings.
        key: &'static str,
        /// Its id there.
        expected: u32,
    },
    /// A vocabulary cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PieceVocabularyError,
    },
    /// A tokenizer that was exported from here cannot be used.
    #[error(transparent)]
    Tokenizer(TokenizerError),
    /// A SentencePiece model cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Pieces {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SentencePieceError,
    },
    /// The file of the weights cannot be read.
    #[error(transparent)]
    Weights(#[from] StateDictError),
    /// A tensor has another shape than the settings say.
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
        /// The shape that it should have.
        expected: Vec<usize>,
    },
    /// Two matrices that are one in the settings differ in the file.
    #[error(
        "`{first}` and `{second}` in `{}` differ, but config.json says that they are one",
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
    /// The positions in the file are no sinusoids.
    #[error("`{name}` in `{}` does not hold sinusoids, which Marian's positions are", path.display())]
    Positions {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
    },
    /// The tensors are not those of the model.
    #[error(
        "`{}` does not hold the weights of the model in config.json: {} tensors differ, the first: {}",
        path.display(),
        misfits.len(),
        misfits.first().map(ToString::to_string).unwrap_or_default()
    )]
    Tensors {
        /// The file.
        path: PathBuf,
        /// What differs.
        misfits: Vec<Misfit>,
    },
    /// A pickle holds more than tensors.
    #[error("`{}` holds `{name}`, which is no tensor; save the state dict alone", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// What is no tensor.
        name: String,
    },
    /// A reference has not what is to be compared.
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
    /// A reference was made with another vocabulary.
    #[error("`{}` has the token {id}, which the model has not", path.display())]
    ReferenceToken {
        /// The file.
        path: PathBuf,
        /// The token, in the numbers of Marian.
        id: i64,
    },
}
