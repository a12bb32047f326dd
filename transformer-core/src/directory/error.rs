//! [`DirectoryError`]: what can be wrong with a model directory, and how to mend it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::manifest::NEWEST_FORMAT;
use crate::config::ConfigError;
use crate::text::TokenizerError;

/// Why a model directory cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// There is nothing at the path.
    #[error("`{}` does not exist; give the directory that training wrote", path.display())]
    Missing {
        /// The path that was given.
        path: PathBuf,
    },
    /// There is something at the path, but no model.
    #[error(
        "`{}` is not a model directory: it has no manifest.json; give the directory that training \
         wrote",
        path.display()
    )]
    NotAModel {
        /// The path that was given.
        path: PathBuf,
    },
    /// The model was written by a newer program.
    #[error(
        "`{}` has format {found}, this program reads up to {NEWEST_FORMAT}; use a newer version of it",
        path.display()
    )]
    Format {
        /// The manifest.
        path: PathBuf,
        /// The format that it names.
        found: u64,
    },
    /// A file is not the JSON that it should be.
    #[error(
        "`{}` cannot be understood; restore the file, or train again",
        path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The manifest names a file that could lie elsewhere.
    #[error("`{}` names the file `{name}`; only plain file names are allowed", path.display())]
    FileName {
        /// The manifest.
        path: PathBuf,
        /// The name in it.
        name: String,
    },
    /// The manifest names neither one tokenizer nor two.
    #[error(
        "`{}` must name either `tokenizer` or both `src_tokenizer` and `tgt_tokenizer`; restore \
         the file, or train again",
        path.display()
    )]
    TokenizerFiles {
        /// The manifest.
        path: PathBuf,
    },
    /// A file of the model is not there.
    #[error(
        "`{}` is missing, but manifest.json names it; restore the file, or train again",
        path.display()
    )]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// A file of the model is shorter or longer than it was.
    #[error(
        "`{}` has {found} bytes, but manifest.json says {expected}; the file was cut off or changed \
         after training: restore it, or train again",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size, in bytes.
        found: u64,
        /// The size in the manifest, in bytes.
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
    /// The configuration describes no model.
    #[error("`{}` describes no model", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ConfigError,
    },
    /// A tokenizer cannot be used.
    #[error("`{}` cannot be used as a tokenizer", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TokenizerError,
    },
    /// A tokenizer belongs to another model.
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
        /// The size of the vocabulary, in tokens.
        found: usize,
        /// The size in the configuration, in tokens.
        expected: usize,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(
        "cannot write `{}`; check free space and permissions, the model that was there is whole",
        path.display()
    )]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
