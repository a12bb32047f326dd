//! The folder of a run: what is in it, and how it is replaced.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use transformer_core::directory::{ModelDirectory, write_file};

use crate::TrainError;
use crate::checkpoint::{PARTS, Resumed, STATE, SaveError, saved};
use crate::config::Experiment;
use crate::progress::LogFn;
use crate::report::{CURVE_FILE, METRICS_FILE, SAMPLES_FILE};
use crate::run::changes;
use crate::validation::is_out_of_patience;

/// Says what happens to a run that is in the folder already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It goes on where it stopped, if it is the same run; another one is refused.
    Resume,
    /// The same, and settings that change what later updates do, as the learning rate, may be others.
    Change,
    /// It is deleted once the new run has read its data; other files in the folder stay. The same run, stopped before
    /// its end, is not deleted.
    Replace,
}

/// Names the files of a run.
pub(crate) struct Folder {
    pub(crate) directory: PathBuf,
    settings: PathBuf,
    pub(crate) model: PathBuf,
    pub(crate) checkpoints: PathBuf,
    pub(crate) curve: PathBuf,
}

impl Folder {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            settings: directory.join("experiment.toml"),
            model: directory.join("model"),
            checkpoints: directory.join("checkpoints"),
            curve: directory.join(METRICS_FILE),
        }
    }

    /// Refuses a folder that is a model, or that cannot be made because a file has its name, or that of a folder
    /// around it.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let path = self.directory.clone();
        if self.directory.join("manifest.json").exists() {
            return Err(TrainError::IsModel { path });
        }
        match path.ancestors().find(|path| path.exists()) {
            Some(there) if !there.is_dir() => Err(TrainError::IsFile {
                path: there.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns the checkpoint of the run in the folder from which this experiment goes on; `None` if there is
    /// no run, or one that ended before its first checkpoint, or one that is to be replaced.
    pub(crate) fn resume(
        &self,
        experiment: &Experiment,
        existing: Existing,
        log: &LogFn,
    ) -> Result<Option<Resumed>, TrainError> {
        if existing == Existing::Replace {
            return match self.unfinished(experiment)? {
                Some(done) => Err(TrainError::Unfinished {
                    path: self.directory.clone(),
                    done,
                }),
                None => Ok(None),
            };
        }
        if !self.settings.exists() {
            return match self.files().is_empty() {
                true => Ok(None),
                false => Err(self.taken()),
            };
        }
        let changes = changes(&self.experiment()?, experiment)?;
        let is_possible = changes.iter().all(|change| change.is_possible);
        let mut differences: Vec<String> = changes.into_iter().map(|change| change.told).collect();
        if existing == Existing::Change && is_possible {
            for difference in differences.drain(..) {
                log(&format!("changed     {difference}"));
            }
        }
        if !differences.is_empty() {
            return Err(TrainError::OtherRun {
                path: self.directory.clone(),
                differences,
                is_possible,
            });
        }
        let resumed = Resumed::find(&self.checkpoints, experiment, log)?;
        // To begin anew would delete what is left of it.
        let is_lost = || {
            !saved(&self.checkpoints, STATE).is_empty()
                || self.published_updates() > experiment.training.validation_interval
        };
        if resumed.is_none() && is_lost() {
            return Err(TrainError::NoCheckpoint {
                path: self.directory.clone(),
            });
        }
        Ok(resumed)
    }

    /// Reads the settings of the run in the folder.
    pub(crate) fn experiment(&self) -> Result<Experiment, TrainError> {
        Ok(Experiment::from_toml(&self.settings)?)
    }

    /// Returns after how many updates the model that is there was written; 0 if there is none.
    fn published_updates(&self) -> u64 {
        let manifest = fs::read(self.model.join("manifest.json")).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
        let updates = &manifest["training"]["scores"]["updates"];
        updates.as_u64().unwrap_or(0)
    }

    /// Says whether the folder holds exactly this run, stopped before its end, with nobody at work on it.
    pub(crate) fn is_unfinished(&self, experiment: &Experiment) -> bool {
        // One that cannot be read now is asked for again by name, and is then told of.
        let found = self.unfinished(experiment);
        !matches!(found, Ok(None)) && self.lock().is_ok()
    }

    /// Returns after how many updates exactly this run was stopped, if it is in the folder and not at its end.
    fn unfinished(&self, experiment: &Experiment) -> Result<Option<u64>, TrainError> {
        let unheard: LogFn = std::sync::Arc::new(|_| {});
        // Settings that are none, or of another version, are not this run's.
        let Ok(there) = Experiment::from_toml(&self.settings) else {
            return Ok(None);
        };
        // How a run is validated has no part in what it becomes.
        let there = Experiment {
            validation: experiment.validation.clone(),
            ..there
        };
        if there != *experiment {
            return Ok(None);
        }
        let found = match Resumed::find(&self.checkpoints, experiment, &unheard) {
            Err(unread @ TrainError::Unread { .. }) => return Err(unread),
            found => found.ok().flatten(),
        };
        Ok(found.map(|found| found.state).and_then(|state| {
            let is_at_end = state.updates >= experiment.training.updates
                || is_out_of_patience(&state.validations, &experiment.training);
            (!is_at_end).then_some(state.updates)
        }))
    }

    /// Keeps other programs from training in this folder, which must be there, until the file is dropped.
    pub(crate) fn lock(&self) -> Result<Option<File>, TrainError> {
        let path = self.directory.join("lock");
        let file = File::create(&path).map_err(TrainError::write(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Err(TrainError::InUse {
                path: self.directory.clone(),
            }),
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Makes and locks a folder that held no run when its text was read, and refuses it if it holds one now:
    /// another program was faster.
    pub(crate) fn claim(&self) -> Result<Option<File>, TrainError> {
        fs::create_dir_all(&self.directory).map_err(TrainError::write(&self.directory))?;
        let lock = self.lock()?;
        match self.holds_run() {
            true => Err(self.taken()),
            false => Ok(lock),
        }
    }

    /// Returns the run's model, for its tokenizers. Where they are not to be had, they are trained again; other ones
    /// would make other ids, which is found out.
    pub(crate) fn published(&self) -> Option<ModelDirectory> {
        ModelDirectory::open(&self.model).ok()
    }

    /// Says whether a run has left its settings in the folder.
    pub(crate) fn holds_run(&self) -> bool {
        self.settings.exists()
    }

    fn taken(&self) -> TrainError {
        TrainError::OutputExists {
            path: self.directory.clone(),
        }
    }

    /// Deletes the run that is there, if any, and writes the effective settings of the new one.
    pub(crate) fn create(&self, experiment: &Experiment) -> Result<(), TrainError> {
        for path in self.files() {
            fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
        }
        fs::create_dir_all(&self.checkpoints).map_err(TrainError::write(&self.checkpoints))?;
        self.write_settings(experiment)
    }

    /// Writes the effective settings of the run.
    pub(crate) fn write_settings(&self, experiment: &Experiment) -> Result<(), TrainError> {
        let settings = experiment.to_toml()?;
        let name = "experiment.toml";
        write_file(&self.directory, name, settings.as_bytes()).map_err(SaveError::from)?;
        Ok(())
    }

    /// Returns the files that a run has left, by their names: the model last, its manifest before it, so
    /// that what is deleted half is no model.
    fn files(&self) -> Vec<PathBuf> {
        let manifest = self.model.join("manifest.json");
        let [picture, samples] = [CURVE_FILE, SAMPLES_FILE].map(|name| self.directory.join(name));
        let named = [&self.settings, &self.curve, &samples, &picture, &manifest];
        let mut files: Vec<PathBuf> = named
            .into_iter()
            .filter(|path| path.exists())
            .cloned()
            .collect();
        let ours = |folder: &Path, is_ours: fn(&str) -> bool| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
            ours.map(|entry| entry.path()).collect()
        };
        files.extend(ours(&self.checkpoints, is_checkpoint));
        files.extend(ours(&self.model, is_model_file));
        files
    }
}

fn is_checkpoint(name: &str) -> bool {
    let name = name.strip_prefix(".unfinished-").unwrap_or(name);
    let Some((part, rest)) = name.split_once('-') else {
        return false;
    };
    (PARTS.contains(&part) && rest.ends_with(".bpk")) || (part == STATE && rest.ends_with(".json"))
}

fn is_model_file(name: &str) -> bool {
    let is_weights = name.starts_with("weights") && name.ends_with(".bpk");
    let kinds = ["config", "tokenizer", "src_tokenizer", "tgt_tokenizer"];
    is_weights || (name.ends_with(".json") && kinds.iter().any(|kind| name.starts_with(kind)))
}
