//! [`DirectoryError`] and [`LoadError`]: the errors of a model directory, with their remedies.

use std::io;
use std::path::PathBuf;

use burn::store::RecordError;
use thiserror::Error;

use super::Precision;
use super::format::NEWEST_FORMAT;
use crate::ShortlistError;
use crate::config::ConfigError;
use crate::json::JsonError;
use crate::text::{LanguageCodeError, TokenizerError};

/// Error of reading or writing a model directory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The path does not exist.
    #[error("`{}` does not exist; give the directory that training wrote", path.display())]
    Missing {
        /// The given path.
        path: PathBuf,
    },
    /// The path exists, but is not a model directory.
    #[error(
        "`{}` is not a model directory: it has no manifest.json; give the directory that training \
         wrote",
        path.display()
    )]
    NotAModel {
        /// The given path.
        path: PathBuf,
    },
    /// The shortlist does not fit the model.
    #[error("`{}` cannot be used", path.display())]
    Shortlist {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ShortlistError,
    },
    /// The model was written by a newer version of the program.
    #[error(
        "`{}` has format {found}, this program reads up to {NEWEST_FORMAT}; use a newer version of it",
        path.display()
    )]
    Format {
        /// The manifest.
        path: PathBuf,
        /// Its format version.
        found: u64,
    },
    /// The manifest has a format version and a precision that do not match.
    #[error(
        "`{}` has format {format} and the precision {precision}, but format 1 is f32, which needs no `precision`, and \
         format 2 is f16 or int8; restore the file, or make the model again",
        path.display()
    )]
    Precision {
        /// The manifest.
        path: PathBuf,
        /// Its format version.
        format: u64,
        /// Its precision; f32 if it names none.
        precision: Precision,
    },
    /// A language in the manifest is not the code of a language.
    #[error(
        "`training.{key}` in `{}` is not the code of a language, such as en or pt-BR; correct it, or remove the key",
        path.display()
    )]
    Language {
        /// The manifest.
        path: PathBuf,
        /// `src_lang` or `tgt_lang`.
        key: &'static str,
        /// The error of the code, if the value is text.
        source: Option<LanguageCodeError>,
    },
    /// A file is not valid JSON, or has keys or values that it must not have.
    #[error(
        "`{}` cannot be parsed; restore the file, or train again",
        path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// The key or the position, and the cause.
        source: JsonError,
    },
    /// The manifest names a file outside of the directory.
    #[error("`{}` names the file `{name}`; only plain file names are allowed", path.display())]
    FileName {
        /// The manifest.
        path: PathBuf,
        /// The name in it.
        name: String,
    },
    /// The manifest names neither a joint tokenizer nor one per side.
    #[error(
        "`{}` must name either `tokenizer` or both `src_tokenizer` and `tgt_tokenizer`; restore \
         the file, or train again",
        path.display()
    )]
    TokenizerFiles {
        /// The manifest.
        path: PathBuf,
    },
    /// A file of the model is missing.
    #[error(
        "`{}` is missing, but manifest.json names it; restore the file, or train again",
        path.display()
    )]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// A file of the model has another size than the manifest says.
    #[error(
        "`{}` has {found} bytes, but manifest.json says {expected}; the file was truncated or changed \
         after training: restore it, or train again",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size, in bytes.
        found: u64,
        /// Its size in the manifest, in bytes.
        expected: u64,
    },
    /// A file of the model has other content than the manifest says.
    #[error(
        "`{}` does not match its SHA-256 in manifest.json; the file was changed or damaged after \
         training: restore it, or train again",
        path.display()
    )]
    Hash {
        /// The file.
        path: PathBuf,
    },
    /// The configuration is invalid.
    #[error("`{}` is not a valid configuration", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ConfigError,
    },
    /// A tokenizer cannot be used.
    #[error("`{}` cannot be used as a tokenizer", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: TokenizerError,
    },
    /// A tokenizer has another vocabulary size than the model.
    #[error(
        "`{}` has {found} tokens, but the model was made for `{field}` = {expected}; use the \
         tokenizer that the model was trained with",
        path.display()
    )]
    VocabSize {
        /// The tokenizer's file.
        path: PathBuf,
        /// The field of the configuration.
        field: &'static str,
        /// Size of the vocabulary, in tokens.
        found: usize,
        /// Size in the configuration, in tokens.
        expected: usize,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(
        "cannot write `{}`; check free space and permissions; the old model, if there was one, is intact",
        path.display()
    )]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Error of loading the weights of a model directory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file of the weights cannot be read, or does not match the manifest any more.
    #[error(transparent)]
    File(#[from] DirectoryError),
    /// The file is too small for a model of this config. Checked before memory is allocated for the model.
    #[error(
        "`{}` has {bytes} bytes, too few for the {n_parameters} parameters of the model in config.json; restore \
         the file, or make the model again",
        path.display()
    )]
    TooSmall {
        /// File of the weights.
        path: PathBuf,
        /// Its size, in bytes.
        bytes: u64,
        /// Number of parameters of the config.
        n_parameters: usize,
    },
    /// The file is not a record.
    #[error(
        "`{}` does not hold the weights of a model; restore the file, or train again",
        path.display()
    )]
    Weights {
        /// File of the weights.
        path: PathBuf,
        /// Burn's error.
        source: RecordError,
    },
    /// The weights are not stored in the precision that the manifest states.
    #[error(
        "`{tensor}` in `{}` is not stored in {precision} or lacks its scales, but manifest.json says {precision}; \
         restore the file, or quantize the model again",
        path.display()
    )]
    Precision {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The precision in the manifest.
        precision: Precision,
    },
    /// A tensor of the model is missing.
    #[error(
        "`{}` has no tensor `{tensor}`, which the model in config.json needs; restore the file, or train again",
        path.display()
    )]
    Missing {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
    /// A tensor has another shape than in the model.
    #[error(
        "`{tensor}` in `{}` has the shape {found:?}, and in the model of config.json {expected:?}; restore the \
         files, or train again",
        path.display()
    )]
    Shape {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// Its shape in the model.
        expected: Vec<usize>,
    },
    /// The file has a tensor that is not part of the model.
    #[error(
        "`{}` has a tensor `{tensor}`, which the model in config.json does not have; restore the files, or train \
         again",
        path.display()
    )]
    Unused {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
}
