//! Errors of reading and writing checkpoints and the models made from them.

use std::io;
use std::path::PathBuf;

use burn::store::RecordError;
use transformer_core::directory::DirectoryError;

use crate::config::ConfigError;

/// The first tensor of a record that does not fit a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum Misfit {
    /// A tensor, or its moments, have another shape.
    #[error("`{tensor}` has the shape {found:?} in the file, but {expected:?} in the model")]
    Shape {
        tensor: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    /// The record lacks a parameter.
    #[error("`{tensor}` is missing in the file")]
    Missing { tensor: String },
    /// The record has a tensor that is not a parameter.
    #[error("`{tensor}` in the file is not a parameter of the model")]
    Unknown { tensor: String },
    /// The record of the optimizer lacks moments of a parameter.
    #[error("the moments of `{tensor}` are missing in the file")]
    NoMoments { tensor: String },
    /// A mismatch that Burn reports.
    #[error("{source}")]
    Other { source: RecordError },
}

/// An error of reading or writing a checkpoint, or of publishing a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum CheckpointError {
    /// A file or the model directory cannot be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Burn cannot encode the weights of a model.
    #[error("the weights cannot be encoded: {source}")]
    Encode { source: RecordError },
    /// A part of a checkpoint is not a record of Burn.
    #[error(
        "`{path}` is not a record that this program can read: {source}; restore the file, or resume with the version \
         of the program that wrote it"
    )]
    NotARecord { path: PathBuf, source: RecordError },
    /// A part of a checkpoint is of another model.
    #[error(
        "`{path}` does not fit the model: {misfit}; use the settings that it was trained with (`[model]` and \
         `training.ema_decay`), or train in another folder with --out"
    )]
    Misfit {
        path: PathBuf,
        #[source]
        misfit: Misfit,
    },
    /// A file of a checkpoint exists but cannot be read.
    #[error(
        "cannot read `{path}` or the other files of its checkpoint: {source}; check the disk and the file permissions, \
         and run the same command again: nothing was changed"
    )]
    Unreadable { path: PathBuf, source: io::Error },
    /// A checkpoint of another version of the program.
    #[error(
        "`{path}` is a checkpoint of another version of the program (format {format}; this one reads format 2); resume \
         with that version, or train in another folder with --out"
    )]
    OtherFormat { path: PathBuf, format: u64 },
    /// The settings in the state of a checkpoint cannot be read.
    #[error(
        "the settings in `{path}` cannot be read: {source}; resume with the version of the program that wrote it"
    )]
    Settings { path: PathBuf, source: ConfigError },
    /// A file of an outdated checkpoint cannot be deleted.
    #[error("cannot delete `{path}`: {source}; delete it by hand")]
    Delete { path: PathBuf, source: io::Error },
    /// The run has done more updates than are requested.
    #[error(
        "the run has already done {done} updates and cannot be shortened; give --updates {done} or more, or another \
         folder with --out"
    )]
    TooManyUpdates {
        /// Number of updates done.
        done: u64,
        /// Number of updates requested, in all.
        requested: u64,
    },
    /// The run ended within an interval and has no checkpoint at the end of one.
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
