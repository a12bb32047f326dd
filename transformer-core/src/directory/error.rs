//! [`DirectoryError`] and [`LoadError`]: the errors of a model directory, with their remedies.

use std::io;
use std::path::PathBuf;

use burn::store::RecordError;
use thiserror::Error;

use super::Precision;
use super::manifest::NEWEST_FORMAT;
use crate::ShortlistError;
use crate::config::ConfigError;
use crate::json::JsonError;
use crate::text::{LanguageCodeError, TokenizerError};

/// Error of reading or writing a model directory.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum DirectoryError {
    #[error("`{path}` does not exist; give the directory that training wrote")]
    Missing { path: PathBuf },
    #[error(
        "`{path}` is not a model directory: it has no manifest.json; give the directory that training wrote"
    )]
    NotAModel { path: PathBuf },
    #[error("`{path}` cannot be used")]
    Shortlist {
        path: PathBuf,
        source: ShortlistError,
    },
    #[error(
        "`{path}` has format {found}, this program reads up to {NEWEST_FORMAT}; use a newer version of it"
    )]
    Format { path: PathBuf, found: u64 },
    #[error(
        "`{path}` has format {format} and the precision {precision}, but format 1 is f32, which needs no `precision`, \
         and format 2 is f16 or int8; restore the file, or make the model again"
    )]
    Precision {
        path: PathBuf,
        format: u64,
        /// Its precision; f32 if it names none.
        precision: Precision,
    },
    #[error(
        "`training.{key}` in `{path}` is not the code of a language, such as en or pt-BR; correct it, or remove the \
         key"
    )]
    Language {
        path: PathBuf,
        /// `src_lang` or `tgt_lang`.
        key: &'static str,
        source: Option<LanguageCodeError>,
    },
    #[error("`{path}` cannot be parsed; restore the file, or train again")]
    Json { path: PathBuf, source: JsonError },
    #[error("`{path}` names the file `{name}`; only plain file names are allowed")]
    FileName { path: PathBuf, name: String },
    #[error(
        "`{path}` must name either `tokenizer` or both `src_tokenizer` and `tgt_tokenizer`; restore the file, or train \
         again"
    )]
    TokenizerFiles { path: PathBuf },
    #[error("`{path}` is missing, but manifest.json names it; restore the file, or train again")]
    MissingFile { path: PathBuf },
    #[error(
        "`{path}` has {found} bytes, but manifest.json says {expected}; the file was truncated or changed after \
         training: restore it, or train again"
    )]
    Size {
        path: PathBuf,
        found: u64,
        expected: u64,
    },
    #[error(
        "`{path}` does not match its SHA-256 in manifest.json; the file was changed or damaged after training: restore \
         it, or train again"
    )]
    Hash { path: PathBuf },
    #[error("`{path}` is not a valid configuration")]
    Config { path: PathBuf, source: ConfigError },
    #[error("`{path}` cannot be used as a tokenizer")]
    Tokenizer {
        path: PathBuf,
        source: TokenizerError,
    },
    #[error(
        "`{path}` has {found} tokens, but the model was made for `{field}` = {expected}; use the tokenizer that the \
         model was trained with"
    )]
    VocabSize {
        path: PathBuf,
        field: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "cannot write `{path}`; check free space and permissions; the old model, if there was one, is intact"
    )]
    Write { path: PathBuf, source: io::Error },
}

/// Error of loading the weights of a model directory.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum LoadError {
    /// The file of the weights cannot be read, or does not match the manifest any more.
    #[error(transparent)]
    File(#[from] DirectoryError),
    /// The file is too small for a model of this config. Checked before memory is allocated for the model.
    #[error(
        "`{path}` has {bytes} bytes, too few for the {n_parameters} parameters of the model in config.json; restore \
         the file, or make the model again"
    )]
    TooSmall {
        path: PathBuf,
        /// Its size, in bytes.
        bytes: u64,
        n_parameters: usize,
    },
    #[error("`{path}` does not hold the weights of a model; restore the file, or train again")]
    Weights { path: PathBuf, source: RecordError },
    #[error(
        "`{tensor}` in `{path}` is not stored in {precision} or lacks its scales, but manifest.json says {precision}; \
         restore the file, or quantize the model again"
    )]
    Precision {
        path: PathBuf,
        tensor: String,
        precision: Precision,
    },
    #[error(
        "`{path}` has no tensor `{tensor}`, which the model in config.json needs; restore the file, or train again"
    )]
    Missing { path: PathBuf, tensor: String },
    #[error(
        "`{tensor}` in `{path}` has the shape {found:?}, and in the model of config.json {expected:?}; restore the \
         files, or train again"
    )]
    Shape {
        path: PathBuf,
        tensor: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    #[error(
        "`{path}` has a tensor `{tensor}`, which the model in config.json does not have; restore the files, or train \
         again"
    )]
    Unused { path: PathBuf, tensor: String },
}
