//! Errors of reading and writing checkpoints and the models made from them.

use std::io;
use std::path::PathBuf;

use transformer_core::directory::DirectoryError;

use crate::config::ConfigError;

/// An error of reading or writing a checkpoint, or of publishing a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A file or the model directory cannot be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Burn cannot read or write a record.
    #[error("weights cannot be {action}: {reason}")]
    Record {
        /// What failed: `read` or `encoded`.
        action: &'static str,
        /// The message of Burn.
        reason: String,
    },
    /// A file of a checkpoint exists but cannot be read.
    #[error(
        "cannot read `{}` or the other files of its checkpoint: {source}; check the disk and the file permissions, \
         and run the same command again: nothing was changed", path.display()
    )]
    Unreadable {
        /// The state of the checkpoint.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The settings in the state of a checkpoint cannot be read.
    #[error(
        "the settings in `{}` cannot be read: {source}; resume with the version of the program that wrote it",
        path.display()
    )]
    Settings {
        /// The state of the checkpoint.
        path: PathBuf,
        /// What is wrong with them.
        #[source]
        source: ConfigError,
    },
    /// A file of an outdated checkpoint cannot be deleted.
    #[error("cannot delete `{}`: {source}; delete it by hand", path.display())]
    Delete {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The run has done more updates than are requested.
    #[error(
        "the run has already done {done} updates and cannot be shortened; give --updates {done} or more, or another \
         folder with --out"
    )]
    TooManyUpdates {
        /// Number of updates done.
        done: u64,
        /// Number of updates requested.
        requested: u64,
    },
    /// The run ended within an interval, and has no checkpoint at the end of one.
    #[error(
        "the run ended after {done} updates, which is not a multiple of `validation_interval` ({interval}), so it \
         cannot be extended; train in another folder with --out, or replace the run with --overwrite"
    )]
    WithinInterval {
        /// Number of updates done.
        done: u64,
        /// Number of updates in an interval.
        interval: u64,
    },
}
