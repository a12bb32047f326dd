//! The folder of a run: what is in it, and how it is replaced.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::TrainError;
use crate::config::Experiment;

/// Says what happens to a run that is in the folder already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The new run is refused.
    Refuse,
    /// It is deleted once the new run has read its data; other files in the folder stay.
    Replace,
}

/// Names the files of a run.
pub(crate) struct Folder {
    directory: PathBuf,
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
            curve: directory.join("metrics.csv"),
        }
    }

    /// Refuses a folder that holds a run, or a model, unless it may be replaced.
    pub(crate) fn check(&self, existing: Existing) -> Result<(), TrainError> {
        let is_model = self.directory.join("manifest.json").exists();
        let is_taken = !self.files().is_empty() && existing == Existing::Refuse;
        if is_model || is_taken {
            return Err(TrainError::OutputExists {
                path: self.directory.clone(),
            });
        }
        Ok(())
    }

    /// Deletes the run that is there, if any, and writes the effective settings of the new one.
    pub(crate) fn create(&self, experiment: &Experiment) -> Result<(), TrainError> {
        for path in self.files() {
            fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
        }
        let written = |path: &Path, result: io::Result<()>| {
            result.map_err(|source| TrainError::Write {
                path: path.to_owned(),
                source,
            })
        };
        written(&self.checkpoints, fs::create_dir_all(&self.checkpoints))?;
        written(
            &self.settings,
            fs::write(&self.settings, experiment.to_toml()?),
        )
    }

    /// Returns the files that a run has left, by their names: the model last, its manifest before it, so
    /// that what is deleted half is no model.
    fn files(&self) -> Vec<PathBuf> {
        let manifest = self.model.join("manifest.json");
        let named = [&self.settings, &self.curve, &manifest];
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
    let kinds = ["model-", "optim-", "scheduler-"];
    name.ends_with(".bpk") && kinds.iter().any(|kind| name.starts_with(kind))
}

fn is_model_file(name: &str) -> bool {
    let is_weights = name.starts_with("weights") && name.ends_with(".bpk");
    let kinds = ["config", "tokenizer", "src_tokenizer", "tgt_tokenizer"];
    is_weights || (name.ends_with(".json") && kinds.iter().any(|kind| name.starts_with(kind)))
}
