//! The checkpoint at which a run resumes: the newest one that is complete and intact.

use std::fs;
use std::path::Path;

use super::files::{STATE, checkpoints_with, state_path, updates_of};
use super::state::{SavedState, Unusable, log_damage};
use crate::config::{Experiment, TrainingSettings};
use crate::error::TrainError;
use crate::progress::LogFn;
use crate::validation::is_out_of_patience;

/// The point at which a run starts or resumes; the default is the point before the first update.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumePoint {
    pub(crate) state: SavedState,
}

impl ResumePoint {
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
            let read = SavedState::read(&path);
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
                return Ok(Some(Self { state }));
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
        let all = checkpoints_with(checkpoints, STATE).into_iter().rev();
        let mut points = all.filter_map(|n_updates| {
            let state = SavedState::read(&state_path(checkpoints, n_updates)).ok()?;
            Some(Self { state })
        });
        points.next()
    }

    /// Returns whether no update is left to train, or the patience is used up.
    pub(crate) fn is_finished(&self, training: &TrainingSettings) -> bool {
        self.state.updates >= training.updates
            || is_out_of_patience(&self.state.validations, training)
    }

    /// Returns the settings that the checkpoint was trained with.
    pub(crate) fn experiment(&self, checkpoints: &Path) -> Result<Experiment, TrainError> {
        let path = state_path(checkpoints, self.state.updates);
        Experiment::from_toml_text(&self.state.experiment, &path.display().to_string())
            .map_err(|source| TrainError::Settings { path, source })
    }

    /// Deletes the files of newer checkpoints: they are incomplete, or will be written again.
    pub(crate) fn delete_newer(&self, checkpoints: &Path) -> Result<(), TrainError> {
        let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let n_updates = name.to_str().and_then(updates_of);
            if n_updates.is_some_and(|n_updates| n_updates > self.state.updates) {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
            }
        }
        Ok(())
    }
}
