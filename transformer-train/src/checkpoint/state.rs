//! The state of a run, `state-N.json`: its progress, and the hashes of the checkpoint's other files.
//!
//! `N` is the number of updates done. A run resumes at the newest checkpoint that is complete and intact;
//! this module finds it, and deletes others.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use transformer_core::directory::{DirectoryError, FileEntry};
use transformer_core::json;
use transformer_core::regular_file::{self, MAX_JSON_BYTES};

use super::files::{MODEL, STATE, checkpoints_with, part_name, state_path, updates_of};
use crate::config::{Experiment, TrainingSettings};
use crate::corpus::{has_own_hash, with_own_hash};
use crate::error::TrainError;
use crate::progress::LogFn;
use crate::validation::{Validation, is_out_of_patience};

/// The version of the states that this program writes and reads. In version 1 the names of files counted intervals.
const FORMAT: u64 = 2;

/// The state of a run after an interval, written when the other files of the checkpoint are complete.
///
/// The default is the state before the first update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedState {
    pub(super) format: u64,
    pub(crate) updates: u64,
    /// Time spent on them, in seconds.
    pub(super) seconds: f64,
    pub(crate) n_threads: usize,
    /// The devices, in Burn's notation.
    pub(crate) device: String,
    #[serde(rename = "corpus")]
    pub(crate) corpus_fingerprint: u64,
    pub(crate) validations: Vec<Validation>,
    #[serde(rename = "measure")]
    pub(crate) validation_fingerprint: Option<u64>,
    /// Checkpoints that were the best under earlier validation settings; they are kept.
    pub(crate) pinned: Vec<usize>,
    /// For each pass over the data (epoch) planned so far, the index of its first batch.
    pub(crate) passes: Vec<u64>,
    /// The settings of the training up to the checkpoint, as TOML.
    pub(crate) experiment: String,
    pub(crate) changes: Vec<SettingChange>,
    pub(super) files: Vec<FileEntry>,
    /// Hash of this state's text with this field empty.
    pub(super) sha256: String,
}

/// The field that states of all versions have.
#[derive(Deserialize)]
struct Format {
    format: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingChange {
    /// The setting, as `section.key`.
    pub(crate) changed: String,
    /// Its value before, in TOML.
    pub(crate) from: String,
    /// Its value since, in TOML.
    pub(crate) to: String,
    /// The first update with the new value, from 1.
    pub(crate) update: u64,
}

#[derive(Debug)]
enum Unusable {
    Damaged(String),
    /// Another version of the program wrote it, in this format.
    OtherFormat(u64),
    /// The operating system cannot read it; it may be intact.
    Unreadable(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Damaged(error.to_string()),
            _ => Self::Unreadable(error),
        }
    }
}

impl SavedState {
    /// Returns the same progress for the program that resumes from it: with its threads and devices, and the
    /// fingerprints of its training pairs and of its validation.
    pub(crate) fn continued_with(
        self,
        n_threads: usize,
        device: String,
        corpus_fingerprint: u64,
        validation_fingerprint: u64,
    ) -> Self {
        Self {
            format: FORMAT,
            seconds: self.elapsed().as_secs_f64(),
            n_threads,
            device,
            corpus_fingerprint,
            validation_fingerprint: Some(validation_fingerprint),
            files: Vec::new(),
            sha256: String::new(),
            ..self
        }
    }

    pub(crate) fn with_settings(self, experiment: String) -> Self {
        Self { experiment, ..self }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// Reads the state of a checkpoint. The error is the reason why the checkpoint cannot be used.
    pub(crate) fn of(checkpoints: &Path, n_updates: u64) -> Result<Self, String> {
        Self::read(&state_path(checkpoints, n_updates)).map_err(|reason| match reason {
            Unusable::Damaged(reason) => reason,
            Unusable::OtherFormat(format) => {
                format!("its format is {format}, and this program reads {FORMAT}")
            }
            Unusable::Unreadable(error) => error.to_string(),
        })
    }

    fn read(path: &Path) -> Result<Self, Unusable> {
        let text = regular_file::read(path, MAX_JSON_BYTES)?;
        let text = String::from_utf8_lossy(&text);
        // States of other versions have other fields.
        let format = json::from_slice(text.as_bytes()).map(|Format { format }| format);
        if let Ok(format) = format
            && format != FORMAT
        {
            return Err(Unusable::OtherFormat(format));
        }
        let state: Self = json::from_slice(text.as_bytes())
            .map_err(|error| Unusable::Damaged(error.to_string()))?;
        match has_own_hash(&text, &state.sha256) {
            true => Ok(state),
            false => Err(Unusable::Damaged("it is not what was saved".to_owned())),
        }
    }

    fn check_files(&self, checkpoints: &Path) -> Result<(), Unusable> {
        for file in &self.files {
            file.check_in(checkpoints).map_err(|error| match error {
                // The file may be intact once the disk can be read again.
                DirectoryError::Read { source, .. } => Unusable::Unreadable(source),
                _ => Unusable::Damaged(format!("`{}` is not what was saved", file.name)),
            })?;
        }
        Ok(())
    }

    fn has_intact_weights(&self, checkpoints: &Path) -> bool {
        let name = part_name(MODEL, self.updates);
        let mut files = self.files.iter();
        files.any(|file| file.name == name && file.is_intact_in(checkpoints))
    }

    pub(crate) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a state is numbers and text");
        with_own_hash(&text)
    }

    /// Returns the newest intact checkpoint at the end of an interval, if any, and logs those that it skips.
    ///
    /// # Errors
    ///
    /// Refuses a run that has done more updates than requested, since it cannot be shortened, and one with its only
    /// intact checkpoint within an interval, since a fresh start would delete it.
    pub(crate) fn find(
        checkpoints: &Path,
        training: &TrainingSettings,
        log: &LogFn,
    ) -> Result<Option<Self>, TrainError> {
        let mut within = None;
        for n_updates in checkpoints_with(checkpoints, STATE).into_iter().rev() {
            let path = state_path(checkpoints, n_updates);
            let read = Self::read(&path);
            if let Ok(state) = &read
                && state.updates > training.updates
            {
                return Err(TrainError::TooManyUpdates {
                    done: state.updates,
                    requested: training.updates,
                });
            }
            let checked = read.and_then(|state| state.check_files(checkpoints).map(|()| state));
            let state = match checked {
                Ok(state) => state,
                Err(Unusable::OtherFormat(format)) => {
                    return Err(TrainError::OtherFormat { path, format });
                }
                Err(Unusable::Damaged(reason)) => {
                    log_damage(&path, &reason, log);
                    continue;
                }
                Err(Unusable::Unreadable(source)) => {
                    return Err(TrainError::Unreadable { path, source });
                }
            };
            // If `updates` is not a multiple of the interval, the last checkpoint of the run is within an interval. It
            // is skipped when such a run is extended.
            let is_boundary = state.updates.is_multiple_of(training.validation_interval);
            if is_boundary || state.updates == training.updates {
                return Ok(Some(state));
            }
            within = within.or(Some(state.updates));
        }
        match within {
            None => Ok(None),
            Some(done) => Err(TrainError::WithinInterval {
                done,
                interval: training.validation_interval,
            }),
        }
    }

    /// Returns the newest checkpoint with a readable state, if any.
    pub(crate) fn newest(checkpoints: &Path) -> Option<Self> {
        let mut all = checkpoints_with(checkpoints, STATE).into_iter().rev();
        all.find_map(|n_updates| Self::read(&state_path(checkpoints, n_updates)).ok())
    }

    pub(crate) fn is_finished(&self, training: &TrainingSettings) -> bool {
        self.updates >= training.updates || is_out_of_patience(&self.validations, training)
    }

    pub(crate) fn experiment(&self, checkpoints: &Path) -> Result<Experiment, TrainError> {
        let path = state_path(checkpoints, self.updates);
        Experiment::from_toml_text(&self.experiment, &path.display().to_string())
            .map_err(|source| TrainError::Settings { path, source })
    }

    /// Deletes the files of newer checkpoints: they are incomplete, or will be written again.
    pub(crate) fn delete_newer(&self, checkpoints: &Path) -> Result<(), TrainError> {
        let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let n_updates = name.to_str().and_then(updates_of);
            if n_updates.is_some_and(|n_updates| n_updates > self.updates) {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
            }
        }
        Ok(())
    }
}

/// Returns the checkpoints with intact weights, by their numbers of updates in ascending order, and logs the damaged
/// ones.
pub(crate) fn checkpoints_with_intact_weights(checkpoints: &Path, log: &LogFn) -> Vec<u64> {
    let mut found = checkpoints_with(checkpoints, STATE);
    found.retain(|n_updates| {
        let weights = part_name(MODEL, *n_updates);
        let reason = match SavedState::of(checkpoints, *n_updates) {
            Ok(state) if state.has_intact_weights(checkpoints) => return true,
            Ok(_) => format!("`{weights}` is not what was saved"),
            Err(reason) => reason,
        };
        log_damage(&state_path(checkpoints, *n_updates), &reason, log);
        false
    });
    found
}

fn log_damage(state: &Path, reason: &str, log: &LogFn) {
    let state = state.display();
    log(&format!(
        "damaged     `{state}`: {reason}; this checkpoint is skipped"
    ));
}
