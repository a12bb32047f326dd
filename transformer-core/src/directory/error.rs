//! [`DirectoryError`]: what can be wrong with a model directory, and how to repair it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::format::NEWEST_FORMAT;
use crate::config::ConfigError;
use crate::text::TokenizerError;

/// Why a model directory cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The path does not exist.
    #[error("`{}` does not exist; give the directory that training wrote", path.display())]
    Missing {
        /// The path that was given.
        path: PathBuf,
    },
    /// The path exists, but is not a model directory.
    #[error(
        "`{}` is not a model directory: it has no manifest.json; give the directory that training \
         wrote",
        path.display()
    )]
    NotAModel {
        /// The path that was given.
        path: PathBuf,
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
    /// A file is not valid JSON, or lacks required fields.
    #[error(
        "`{}` cannot be parsed; restore the file, or train again",
        path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// Position and cause.
        source: serde_json::Error,
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
    /// A file of the model has another size than it had.
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
    /// A file of the model has other content than it had.
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
