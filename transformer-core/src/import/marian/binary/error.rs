//! [`BinaryError`]: the errors of importing a model in Marian's binary format.

use std::path::PathBuf;

use thiserror::Error;
use zip::result::ZipError;

use crate::ShortlistError;
use crate::config::ConfigError;
use crate::import::ImportError;

/// Error in importing a model in Marian's binary format. The file is named by
/// [`MarianError::Binary`](super::super::MarianError::Binary).
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum BinaryError {
    #[error(
        "it is not in version 1 of Marian's binary format; give a `model.*.bin` that is not compressed"
    )]
    Version,
    #[error("{part} do not fit into the file, which is cut off or damaged; download it again")]
    Truncated { part: &'static str },
    #[error("{n_bytes} bytes are left after the last array; download it again")]
    LeftOver { n_bytes: usize },
    #[error("array {index} has no name, or that of another one; download it again")]
    Name {
        /// Index of the array, from 0.
        index: usize,
    },
    #[error("`{name}` has the shape {shape:?}, but {n_bytes} bytes; download it again")]
    Size {
        name: String,
        shape: Vec<i32>,
        n_bytes: usize,
    },
    #[error(
        "`{name}` has the type {found:#x}; only 32-bit floats (0x404) and intgemm8 (0x4101) can be imported"
    )]
    Type { name: String, found: u64 },
    #[error("`{name}` has the scale {scale}; download it again")]
    Scale { name: String, scale: f32 },
    #[error("it is not an `.npz` file, or is damaged; download it again")]
    Zip(#[from] ZipError),
    #[error("`{name}` in it is not an array of 32-bit floats, or is damaged; download it again")]
    Array { name: String },
    #[error(
        "line {line} of the vocabulary is not `token: id`, or repeats an id; download it again"
    )]
    Token {
        /// The line, from 1.
        line: usize,
    },
    #[error("it has no token with the id {id}; download it again")]
    NoId { id: usize },
    #[error(
        "it has no `special:model.yml`, the settings of a model; give the model of a translation system"
    )]
    NoSettings,
    #[error("line {line} of the settings is not `key: value`, or repeats a key; download it again")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    #[error("`{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        key: &'static str,
        found: String,
        expected: String,
    },
    #[error(
        "it has {found} pieces, but `dim-vocabs` of the model is {expected}; take both from one model"
    )]
    VocabSize { found: usize, expected: String },
    #[error("its settings are not valid")]
    Config(#[from] ConfigError),
    #[error("{n_misfits} arrays do not match its settings, the first: {first}")]
    Tensors { n_misfits: usize, first: String },
    #[error("its arrays do not match its settings")]
    Import(#[source] ImportError),
    /// The shortlist does not fit the model.
    #[error(transparent)]
    Shortlist(#[from] ShortlistError),
    #[error(
        "it has both `{first}` and `{second}`; keep the files of one model, or give its `.bin` or `.npz` file"
    )]
    Several { first: String, second: String },
    #[error("it has no `{pattern}`, which belongs to `{}`; put it there, decompressed", model.display())]
    NoFile {
        pattern: &'static str,
        model: PathBuf,
    },
}
