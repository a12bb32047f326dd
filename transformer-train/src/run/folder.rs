//! The folder of a run: its files, its lock, and the resuming or replacing of a run in it.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use transformer_core::directory::{ModelDirectory, check_link, write_file};
use transformer_core::regular_file::{self, MAX_JSON_BYTES};

use super::changes::{Change, changes};
use crate::checkpoint::{STATE, SavedState, checkpoints_with, updates_of};
use crate::config::{Experiment, TrainingSettings};
use crate::corpus::{Cleaning, contains_only_stores};
use crate::error::TrainError;
use crate::progress::LogFn;
use crate::report::{CURVE_FILE, METRICS_FILE, SAMPLES_FILE, is_event_file};
use crate::validation::SCORED_FILES;

/// The treatment of a run that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The run is resumed if it has the same settings, and refused otherwise.
    Resume,
    /// Like `Resume`, but settings that change only later updates may differ, for example the learning rate.
    Change,
    /// The run is deleted once the new run has read its data; other files in the folder are kept. An unfinished run
    /// that `Resume` would resume, with the same or another length, is not deleted.
    Replace,
}

const SETTINGS: &str = "experiment.toml";

const DROPPED: &str = "dropped.tsv";

pub(crate) struct RunFolder {
    pub(crate) directory: PathBuf,
    settings: PathBuf,
    pub(crate) model: PathBuf,
    pub(crate) checkpoints: PathBuf,
    pub(crate) metrics: PathBuf,
    dropped: PathBuf,
}

/// Keeps other programs from training in a folder until it is dropped; `None` on file systems without locks.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "the file keeps the lock")] Option<File>);

/// Returns whether the folder holds exactly this run, unfinished, and no program trains in it; or, before its first
/// update, only the token stores of its text.
pub fn is_unfinished(directory: &Path, experiment: &Experiment) -> bool {
    contains_only_stores(directory) || RunFolder::new(directory).is_unfinished(experiment)
}

impl RunFolder {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            settings: directory.join(SETTINGS),
            model: directory.join("model"),
            checkpoints: directory.join("checkpoints"),
            metrics: directory.join(METRICS_FILE),
            dropped: directory.join(DROPPED),
        }
    }

    /// Refuses a model directory, a file, and a path below a file.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let path = self.directory.clone();
        if self.directory.join("manifest.json").exists() {
            return Err(TrainError::IsModel { path });
        }
        check_link(&path).map_err(TrainError::link(&path))?;
        match path.ancestors().find(|path| path.exists()) {
            Some(existing) if !existing.is_dir() => Err(TrainError::IsFile {
                path: existing.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns the checkpoint at which this experiment resumes; `None` if the folder has no run, a run that ended
    /// before its first checkpoint, or one that is to be replaced.
    pub(crate) fn resume(
        &self,
        experiment: &Experiment,
        existing: Existing,
        log: &LogFn,
    ) -> Result<Option<SavedState>, TrainError> {
        self.check_checkpoints()?;
        let path = self.directory.clone();
        if existing == Existing::Replace {
            return match self.unfinished(experiment, would_resume)? {
                Some(done) => Err(TrainError::Unfinished { path, done }),
                None => Ok(None),
            };
        }
        if !self.holds_run() {
            return match self.files().is_empty() {
                true => Ok(None),
                false => Err(self.occupied()),
            };
        }
        // The settings decide which checkpoint counts, so they are compared before and after.
        let newest = SavedState::newest(&self.checkpoints);
        self.accepted_changes(experiment, newest.as_ref(), existing)?;
        let Some(mut resumed) = SavedState::find(&self.checkpoints, &experiment.training, log)?
        else {
            return match self.has_trained(&experiment.training) {
                // A fresh start would delete the rest of a run with damaged or lost checkpoints.
                true => Err(TrainError::NoCheckpoint { path }),
                false => Ok(None),
            };
        };
        let changes = self.accepted_changes(experiment, Some(&resumed), existing)?;
        let done = resumed.updates;
        let is_finished = done >= experiment.training.updates;
        let without_effect = changes
            .iter()
            .find(|change| is_finished && !change.is_of_length());
        if let Some(change) = without_effect {
            let change = change.text.clone();
            return Err(TrainError::WithoutEffect { path, change, done });
        }
        let first_update = done + 1;
        for change in changes {
            log(&format!("changed     {}", change.text));
            resumed.changes.push(change.at(first_update));
        }
        Ok(Some(resumed))
    }

    /// Refuses checkpoints that cannot be listed: a run without checkpoints would start over, and so be deleted.
    fn check_checkpoints(&self) -> Result<(), TrainError> {
        match fs::read_dir(&self.checkpoints) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                let path = self.checkpoints.clone();
                Err(TrainError::Unreadable { path, source })
            }
            _ => Ok(()),
        }
    }

    /// Returns the settings that differ from those of a checkpoint if the run can be resumed with them, and refuses
    /// them otherwise.
    fn accepted_changes(
        &self,
        experiment: &Experiment,
        checkpoint: Option<&SavedState>,
        existing: Existing,
    ) -> Result<Vec<Change>, TrainError> {
        let changes = changes(&self.trained_with(checkpoint)?, experiment)?;
        let is_possible = changes.iter().all(|change| change.is_possible);
        if changes.is_empty() || (existing == Existing::Change && is_possible) {
            return Ok(changes);
        }
        Err(TrainError::OtherRun {
            path: self.directory.clone(),
            differences: changes.into_iter().map(|change| change.text).collect(),
            is_possible,
        })
    }

    /// Returns the settings of the training up to a checkpoint. Without a checkpoint, they are those of the folder,
    /// which may have been edited since.
    pub(super) fn trained_with(
        &self,
        checkpoint: Option<&SavedState>,
    ) -> Result<Experiment, TrainError> {
        match checkpoint {
            Some(checkpoint) => Ok(checkpoint.experiment(&self.checkpoints)?),
            None => self.experiment(),
        }
    }

    /// Returns whether the run has trained longer than an interval, or has had a checkpoint.
    fn has_trained(&self, training: &TrainingSettings) -> bool {
        !checkpoints_with(&self.checkpoints, STATE).is_empty()
            || self.published_updates() > training.validation_interval
    }

    pub(crate) fn experiment(&self) -> Result<Experiment, TrainError> {
        Ok(Experiment::from_toml(&self.settings)?)
    }

    /// Returns the number of updates of the published model; 0 if there is none.
    fn published_updates(&self) -> u64 {
        let manifest = self.model.join("manifest.json");
        let manifest = regular_file::read(&manifest, MAX_JSON_BYTES).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
        let updates = &manifest["training"]["scores"]["updates"];
        updates.as_u64().unwrap_or(0)
    }

    /// Returns whether the folder holds exactly this run, unfinished, and no program trains in it.
    fn is_unfinished(&self, experiment: &Experiment) -> bool {
        // A run that cannot be read counts: `resume` then reports the error.
        let found = self.unfinished(experiment, is_same);
        !matches!(found, Ok(None)) && self.lock().is_ok()
    }

    /// Returns the number of updates done, if the folder holds this run, of which `is_this` decides by the settings of
    /// both, and it has not finished.
    fn unfinished(
        &self,
        experiment: &Experiment,
        is_this: fn(&Experiment, &Experiment) -> bool,
    ) -> Result<Option<u64>, TrainError> {
        let no_log: LogFn = std::sync::Arc::new(|_| {});
        // Missing or damaged settings, and those of another version, count as those of another run. The settings of the
        // folder may have been edited, and those of a checkpoint have the length that the run had then. A match of
        // either is enough, because otherwise the run is deleted.
        let newest = SavedState::newest(&self.checkpoints);
        let known = [self.experiment(), self.trained_with(newest.as_ref())];
        let known = known.into_iter().flatten();
        let known: Vec<Experiment> = known.filter(|it| is_this(it, experiment)).collect();
        if known.is_empty() {
            return Ok(None);
        }
        let found = match SavedState::find(&self.checkpoints, &experiment.training, &no_log) {
            Err(error @ TrainError::Unreadable { .. }) => return Err(error),
            found => found.ok().flatten(),
        };
        // A run that reached its own end can be replaced by a longer one.
        let is_unfinished =
            |state: &SavedState| known.iter().any(|it| !state.is_finished(&it.training));
        Ok(found.filter(is_unfinished).map(|state| state.updates))
    }

    pub(crate) fn lock(&self) -> Result<FolderLock, TrainError> {
        let (path, lock) = (self.directory.clone(), self.directory.join("lock"));
        let file = File::create(&lock).map_err(TrainError::write(&lock))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(Some(file))),
            Err(TryLockError::WouldBlock) => Err(TrainError::InUse { path }),
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => Ok(FolderLock(None)),
        }
    }

    /// Creates and locks a folder that held no run before the text was read. Refuses it if another program has started
    /// a run in it meanwhile.
    pub(crate) fn claim(&self) -> Result<FolderLock, TrainError> {
        fs::create_dir_all(&self.directory).map_err(TrainError::write(&self.directory))?;
        let lock = self.lock()?;
        match self.holds_run() {
            true => Err(self.occupied()),
            false => Ok(lock),
        }
    }

    /// Takes over the folder for this run and writes its settings. For a resumed run, it checks that the text has this
    /// fingerprint and deletes the checkpoints newer than the resume point; any other run in the folder is deleted.
    pub(crate) fn accept(
        &self,
        experiment: &Experiment,
        resumed: Option<&SavedState>,
        fingerprint: u64,
    ) -> Result<(), TrainError> {
        let Some(resumed) = resumed else {
            return self.create(experiment);
        };
        self.check_corpus(resumed, fingerprint)?;
        resumed.delete_newer(&self.checkpoints)?;
        self.write_settings(experiment)
    }

    pub(super) fn write_dropped(&self, cleaning: &[Cleaning]) -> Result<(), TrainError> {
        if !cleaning.iter().any(Cleaning::drops_any) {
            return Ok(());
        }
        let unfinished = self.directory.join(format!(".unfinished-{DROPPED}"));
        let write_error = |error| TrainError::write(&unfinished)(error);
        let mut file = BufWriter::new(File::create(&unfinished).map_err(write_error)?);
        for cleaning in cleaning {
            cleaning.write_dropped(|line| file.write_all(line.as_bytes()).map_err(write_error))?;
        }
        file.flush().map_err(write_error)?;
        fs::rename(&unfinished, &self.dropped).map_err(TrainError::write(&self.dropped))
    }

    pub(crate) fn check_corpus(
        &self,
        resumed: &SavedState,
        fingerprint: u64,
    ) -> Result<(), TrainError> {
        let path = self.directory.clone();
        match resumed.corpus_fingerprint == fingerprint {
            true => Ok(()),
            false => Err(TrainError::OtherCorpus { path }),
        }
    }

    /// Returns the published model of the run, if it can be read. A run resumed without one trains its tokenizers
    /// again; if they differ, so does the fingerprint of the ids.
    pub(crate) fn published(&self) -> Option<ModelDirectory> {
        ModelDirectory::open(&self.model).ok()
    }

    pub(crate) fn saved_model(&self) -> Option<PathBuf> {
        let is_saved = self.model.join("manifest.json").exists();
        is_saved.then(|| self.model.clone())
    }

    pub(crate) fn holds_run(&self) -> bool {
        self.settings.exists()
    }

    fn occupied(&self) -> TrainError {
        TrainError::OutputExists {
            path: self.directory.clone(),
        }
    }

    /// Deletes the existing run, if any, and replaces its settings by those of the new one. The settings stay until
    /// then, so that after a kill the same command deletes the remaining files.
    fn create(&self, experiment: &Experiment) -> Result<(), TrainError> {
        let others = self.files().into_iter();
        for path in others.filter(|path| *path != self.settings) {
            fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
        }
        fs::create_dir_all(&self.checkpoints).map_err(TrainError::write(&self.checkpoints))?;
        self.write_settings(experiment)
    }

    fn write_settings(&self, experiment: &Experiment) -> Result<(), TrainError> {
        let settings = experiment.to_toml()?;
        Ok(write_file(&self.directory, SETTINGS, settings.as_bytes())?)
    }

    /// Returns the files of a run, recognized by their names. The model's manifest comes before its
    /// other files, so that a partly deleted model is not taken for a model.
    fn files(&self) -> Vec<PathBuf> {
        let manifest = self.model.join("manifest.json");
        let [picture, samples] = [CURVE_FILE, SAMPLES_FILE].map(|name| self.directory.join(name));
        let named = [
            &self.settings,
            &self.metrics,
            &self.dropped,
            &samples,
            &picture,
            &manifest,
        ];
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
        files.extend(ours(&self.directory, is_event_file));
        files.extend(ours(&self.directory.join("validation"), |name| {
            SCORED_FILES.contains(&name)
        }));
        files.extend(ours(&self.checkpoints, |name| {
            updates_of(name.strip_prefix(".unfinished-").unwrap_or(name)).is_some()
        }));
        files.extend(ours(&self.model, is_model_file));
        files
    }
}

/// Returns whether two experiments are the same but for validation and reports, which have no effect on the weights.
fn is_same(existing: &Experiment, experiment: &Experiment) -> bool {
    let comparable = Experiment {
        validation: experiment.validation.clone(),
        report: experiment.report.clone(),
        ..existing.clone()
    };
    // Without the model settings that equal the preset's, as users write them.
    matches!((comparable.resolved(), experiment.resolved()), (Ok(a), Ok(b)) if a == b)
}

/// Returns whether an experiment resumes the existing one: on the same files, which may have other names.
fn would_resume(existing: &Experiment, experiment: &Experiment) -> bool {
    let found = changes(existing, experiment);
    found.is_ok_and(|it| it.is_empty()) && training_files(existing) == training_files(experiment)
}

fn training_files(experiment: &Experiment) -> Vec<Option<PathBuf>> {
    let data = &experiment.data;
    let corpora = data.corpora.iter();
    let corpora = corpora.flat_map(|corpus| [&corpus.src, &corpus.tgt, &corpus.tsv]);
    let files = [&data.src, &data.tgt, &data.tsv].into_iter().chain(corpora);
    let file = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    files.map(|path| path.as_ref().map(file)).collect()
}

fn is_model_file(name: &str) -> bool {
    let is_weights = name.starts_with("weights") && name.ends_with(".bpk");
    let kinds = ["config", "tokenizer", "src_tokenizer", "tgt_tokenizer"];
    is_weights || (name.ends_with(".json") && kinds.iter().any(|kind| name.starts_with(kind)))
}
