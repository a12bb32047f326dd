//! What can end a training run before its time.

use std::io;
use std::path::{Path, PathBuf};

use transformer_core::ConfigError as ModelConfigError;
use transformer_core::import::WordVectorsError;
use transformer_core::text::TokenizerError;

use crate::batching::PlanError;
use crate::checkpoint::SaveError;
use crate::config::ConfigError;
use crate::corpus::CorpusError;

/// Says why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The experiment's settings have no meaning.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model's settings have no meaning.
    #[error(transparent)]
    Model(#[from] ModelConfigError),
    /// The parallel text cannot be read.
    #[error(transparent)]
    Corpus(CorpusError),
    /// A tokenizer cannot be trained.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Word vectors cannot be used.
    #[error(transparent)]
    WordVectors(#[from] WordVectorsError),
    /// The sentences cannot be put into batches.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The model that a run goes on from cannot be read.
    #[error(transparent)]
    Directory(#[from] transformer_core::directory::DirectoryError),
    /// The weights that a run begins with cannot be read.
    #[error(transparent)]
    Load(#[from] transformer_core::LoadError),
    /// A model cannot be saved.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The output folder is somebody's already.
    #[error(
        "`{}` already holds a run; choose another folder with --out, or replace the run with --overwrite",
        path.display()
    )]
    OutputExists {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder is a model directory.
    #[error(
        "`{}` has a manifest.json, as model directories have, and is no folder of a run; choose another folder with \
         --out",
        path.display()
    )]
    IsModel {
        /// The folder.
        path: PathBuf,
    },
    /// A folder is to be made where a file is.
    #[error("`{}` is a file; choose another folder with --out", path.display())]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// The folder holds a run with other settings.
    #[error(
        "`{}` holds a run with other settings: {}; go on without the change{}, train in another folder with --out, or \
         replace the run with --overwrite", path.display(), differences.join(", "),
        if *.is_possible { ", or with it by --allow-changes" } else { "" }
    )]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// The settings that differ, with both values.
        differences: Vec<String>,
        /// Whether the run can go on with them ([`Existing::Change`](crate::Existing::Change)).
        is_possible: bool,
    },
    /// The run in the folder is this one, and it would be deleted to begin it anew.
    #[error(
        "`{}` holds this very run, stopped after {done} updates; go on with it, without --overwrite, or delete the folder \
         to begin anew", path.display()
    )]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// Number of updates done.
        done: u64,
    },
    /// The model that a run is to go on from would be replaced by it.
    #[error(
        "`{}` holds the model that is to be trained further, which the run would replace; choose another folder with \
         --out", path.display()
    )]
    OwnModel {
        /// The folder.
        path: PathBuf,
    },
    /// A file of a checkpoint is there and cannot be read.
    #[error(
        "cannot read `{}` or what belongs to it: {source}; check the disk and its rights, and run the same command \
         again: nothing was changed", path.display()
    )]
    Unread {
        /// The state of the checkpoint.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The run in the folder has no checkpoint that is whole.
    #[error(
        "`{}` holds a run without a whole checkpoint to go on from; choose another folder with --out, or replace \
         the run with --overwrite", path.display()
    )]
    NoCheckpoint {
        /// The folder.
        path: PathBuf,
    },
    /// A run has no whole checkpoint after so many updates.
    #[error(
        "`{}` has no whole checkpoint after update {update}; it has those after {}", path.display(), list(.there)
    )]
    NoSuchCheckpoint {
        /// The folder.
        path: PathBuf,
        /// Number of updates.
        update: u64,
        /// The checkpoints that are there, by their updates.
        there: Vec<u64>,
    },
    /// A run has fewer checkpoints than are to be averaged.
    #[error(
        "`{}` {}; raise `average_last` or `keep_best` in the next run", path.display(), fewer(*.wanted, .there)
    )]
    TooFewCheckpoints {
        /// The folder.
        path: PathBuf,
        /// Number of checkpoints asked for.
        wanted: usize,
        /// The checkpoints that are there, by their updates.
        there: Vec<u64>,
    },
    /// The folder for a model is somebody's already.
    #[error("`{}` exists already; choose another folder with --out", path.display())]
    FolderExists {
        /// The folder.
        path: PathBuf,
    },
    /// The settings speak of other devices than there are.
    #[error("`training.devices` is {wanted}, and {given} devices are given; give as many")]
    OtherDevices {
        /// Number of devices in the settings.
        wanted: u64,
        /// Number of devices of the surroundings.
        given: usize,
    },
    /// The run has gone on for longer than it is to be.
    #[error(
        "the run has done {done} updates, and none is taken back; give --updates {done} or more, or another folder \
         with --out"
    )]
    Shorter {
        /// Number of updates done.
        done: u64,
        /// Number of updates asked for.
        wanted: u64,
    },
    /// The run ended within an interval, and has no checkpoint at the end of one.
    #[error(
        "the run ended after {done} updates, within an interval of {interval}, and a longer one goes on only from the \
         end of an interval; train in another folder with --out, or replace the run with --overwrite"
    )]
    WithinInterval {
        /// Number of updates done.
        done: u64,
        /// Number of updates in an interval.
        interval: u64,
    },
    /// Another program trains in the folder.
    #[error("another program is training in `{}`; wait for its end, or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The run in the folder was begun on other text.
    #[error(
        "the run in `{}` was begun on other text; give it the same files, choose another folder with --out, or \
         replace the run with --overwrite", path.display()
    )]
    OtherCorpus {
        /// The folder.
        path: PathBuf,
    },
    /// A run that is to be replaced cannot be deleted.
    #[error("cannot delete `{}`: {source}; delete it by hand", path.display())]
    Delete {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file of the run cannot be written.
    #[error("cannot write `{}`: {source}; check that the folder exists and has room", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The loss, or the norm of the gradients, is infinite or not a number: the weights are lost, but not those saved
    /// before.
    #[error(
        "the {what} of update {update} is {value}{}; {}; lower the learning rate (`learning_rate_factor`, or \
         `peak_learning_rate` where it is set), raise `warmup_steps`, or set `clip_norm`",
        made_of(.lines), kept(.model.as_deref())
    )]
    NonFinite {
        /// The update, from 1.
        update: u64,
        /// What is not a number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The lines of the text that the update was made from, from 1; none if they are not known.
        lines: Vec<u64>,
        /// The model directory, if a model was saved.
        model: Option<PathBuf>,
    },
    /// Burn's Learner stopped on an error of its own.
    #[error("training stopped: {reason}; {}{}", kept(.model.as_deref()), if .model.is_some() {
        ", and --resume goes on from there"
    } else {
        ""
    })]
    Learner {
        /// What the Learner said.
        reason: String,
        /// The model directory, if a model was saved.
        model: Option<PathBuf>,
    },
    /// Somebody asked for an end before the first update.
    #[error("stopped before the first update; nothing is lost, and the same command begins again")]
    Interrupted,
    /// Training was stopped before the first interval was complete.
    #[error("stopped before the first validation: no model was made")]
    NothingTrained,
}

impl From<CorpusError> for TrainError {
    fn from(error: CorpusError) -> Self {
        match error {
            CorpusError::Interrupted => Self::Interrupted,
            error => Self::Corpus(error),
        }
    }
}

impl TrainError {
    /// Returns what makes an error of the system one about this file or folder, which was to be written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

/// Says what there is in place of so many checkpoints.
fn fewer(wanted: usize, there: &[u64]) -> String {
    match there.len() {
        0 => "has no whole checkpoint".to_owned(),
        n => format!(
            "has no {wanted} whole checkpoints, only those after {}; choose at most {n}",
            list(there)
        ),
    }
}

/// Writes the updates of checkpoints.
fn list(updates: &[u64]) -> String {
    match updates {
        [] => "none".to_owned(),
        updates => updates
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Names lines of the text, the first of them if they are many.
fn made_of(lines: &[u64]) -> String {
    match lines.get(..10) {
        Some(first) if lines.len() > 10 => {
            format!(
                ", made of lines {} and {} more",
                list(first),
                lines.len() - 10
            )
        }
        _ if lines.is_empty() => String::new(),
        _ => format!(", made of lines {}", list(lines)),
    }
}

/// Says what is left when a run breaks.
fn kept(model: Option<&Path>) -> String {
    match model {
        Some(path) => format!(
            "the model of the validation before is kept in `{}`",
            path.display()
        ),
        None => "no model was saved yet".to_owned(),
    }
}
