//! [`ExportError`]: the errors of exports.

use std::path::PathBuf;

use thiserror::Error;

/// Error in exporting a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format does not support the value of a setting.
    #[error(
        "`{key}` is {found}, but {format} support only {expected}; retrain with another `model.{key}`, or \
         choose another format"
    )]
    Setting {
        /// The field of the config.
        key: String,
        /// Its value.
        found: String,
        /// The format.
        format: &'static str,
        /// The supported value.
        expected: &'static str,
    },
    /// A number does not fit into the format's fields.
    #[error("`{name}` is too large for {format}")]
    TooLarge {
        /// The tensor or setting.
        name: String,
        /// The format.
        format: &'static str,
    },
    /// The folder is a model directory, and the export would overwrite its files.
    #[error(
        "`{}` has a manifest.json, as model directories have, and the export would damage one; choose another \
         folder",
        path.display()
    )]
    ModelDirectory {
        /// The folder.
        path: PathBuf,
    },
    /// A tensor cannot be written.
    #[error("the weights cannot be put into a file")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
