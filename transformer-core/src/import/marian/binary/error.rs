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
pub enum BinaryError {
    /// The file does not begin with the format's version.
    #[error(
        "it is not in version 1 of Marian's binary format; give a `model.*.bin` that is not compressed"
    )]
    Version,
    /// The file ends early, or a size in it is wrong.
    #[error("{part} do not fit into the file, which is cut off or damaged; download it again")]
    Truncated {
        /// The part of the file that does not fit.
        part: &'static str,
    },
    /// Bytes remain after all arrays.
    #[error("{n_bytes} bytes are left after the last array; download it again")]
    LeftOver {
        /// Number of bytes.
        n_bytes: usize,
    },
    /// The name of an array is not text, or a duplicate.
    #[error("array {index} has no name, or that of another one; download it again")]
    Name {
        /// Index of the array, from 0.
        index: usize,
    },
    /// An array does not have the size of its shape.
    #[error("`{name}` has the shape {shape:?}, but {n_bytes} bytes; download it again")]
    Size {
        /// The array.
        name: String,
        /// Its shape.
        shape: Vec<i32>,
        /// Its size.
        n_bytes: usize,
    },
    /// An array has a type that cannot be imported.
    #[error(
        "`{name}` has the type {found:#x}; only 32-bit floats (0x404) and intgemm8 (0x4101) can be imported"
    )]
    Type {
        /// The array.
        name: String,
        /// Its type.
        found: u64,
    },
    /// The scale of an array of integers is not a positive number.
    #[error("`{name}` has the scale {scale}; download it again")]
    Scale {
        /// The array.
        name: String,
        /// The scale.
        scale: f32,
    },
    /// The file is not a zip archive, or is damaged.
    #[error("it is not an `.npz` file, or is damaged; download it again")]
    Zip(#[from] ZipError),
    /// An array of an `.npz` file is not what its header says.
    #[error("`{name}` in it is not an array of 32-bit floats, or is damaged; download it again")]
    Array {
        /// The array.
        name: String,
    },
    /// A line of a vocabulary cannot be read.
    #[error(
        "line {line} of the vocabulary is not `token: id`, or repeats an id; download it again"
    )]
    Token {
        /// The line, from 1.
        line: usize,
    },
    /// A vocabulary lacks an id.
    #[error("it has no token with the id {id}; download it again")]
    NoId {
        /// The first id without a token.
        id: usize,
    },
    /// The file has no settings.
    #[error(
        "it has no `special:model.yml`, the settings of a model; give the model of a translation system"
    )]
    NoSettings,
    /// A line of a YAML file cannot be read.
    #[error("line {line} of the settings is not `key: value`, or repeats a key; download it again")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// A setting is missing, or has a value that is not supported.
    #[error("`{key}` is {found}, which cannot be imported; {expected} can")]
    Setting {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// The supported values.
        expected: String,
    },
    /// The vocabulary has another size than the model.
    #[error(
        "it has {found} pieces, but `dim-vocabs` of the model is {expected}; take both from one model"
    )]
    VocabSize {
        /// Number of pieces.
        found: usize,
        /// The model's size.
        expected: String,
    },
    /// The settings are not valid.
    #[error("its settings are not valid")]
    Config(#[from] ConfigError),
    /// The arrays do not match the settings.
    #[error("{n_misfits} arrays do not match its settings, the first: {first}")]
    Tensors {
        /// Number of arrays.
        n_misfits: usize,
        /// The first difference.
        first: String,
    },
    /// The model cannot be built.
    #[error("its arrays do not match its settings")]
    Import(#[source] ImportError),
    /// The shortlist does not fit the model.
    #[error(transparent)]
    Shortlist(#[from] ShortlistError),
    /// Several files may be meant.
    #[error(
        "it has both `{first}` and `{second}`; keep the files of one model, or give its `.bin` or `.npz` file"
    )]
    Several {
        /// A file.
        first: String,
        /// Another one.
        second: String,
    },
    /// A file is missing.
    #[error("it has no `{pattern}`, which belongs to `{}`; put it there, decompressed", model.display())]
    NoFile {
        /// The pattern of its name.
        pattern: &'static str,
        /// The model.
        model: PathBuf,
    },
}
