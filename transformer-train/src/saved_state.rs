//! What a run needs to go on where it was: which checkpoint is whole, and whether the run is still the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::tensor::Bytes;
use burn_train::checkpoint::{Checkpoint, Checkpointer, CheckpointerError};
use serde::{Deserialize, Serialize};
use transformer_core::directory::{FileEntry, write_file};
use transformer_infer::one_line;

use crate::TrainError;
use crate::checkpoint::SaveError;
use crate::config::{Experiment, TrainingSettings};
use crate::history::{History, Validation};
use crate::report::Say;
use crate::run::Run;

/// The version of the states that this program writes, and the only one that it reads.
const FORMAT: u64 = 1;

/// The files of a checkpoint: weights, Adam's moments, and the place in the schedule.
pub(crate) const PARTS: [&str; 3] = [MODEL, "optim", "scheduler"];

/// The part that holds the weights.
pub(crate) const MODEL: &str = "model";

/// What the name of a state begins with.
pub(crate) const STATE: &str = "state";

/// The settings that have no part in what the weights become, or in which update sees which sentences.
const MAY_DIFFER: [&str; 17] = [
    "data.src",
    "data.store",
    "data.store_folder",
    "data.tgt",
    "data.tsv",
    "data.valid_src",
    "data.valid_tgt",
    "data.valid_tsv",
    "embeddings.src_word_vectors",
    "embeddings.tgt_word_vectors",
    "training.average_best",
    "training.average_last",
    "training.best_by",
    "training.keep_best",
    "training.patience",
    "training.updates",
    "validation.",
];

/// Says how far a run has come: `state-N.json`, written when the other files of checkpoint N are whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedState {
    format: u64,
    /// Number of updates done.
    pub(crate) updates: u64,
    /// Time spent on them, in seconds.
    seconds: f64,
    /// Number of threads that share an update.
    pub(crate) n_threads: usize,
    /// The device, as it is printed.
    pub(crate) device: String,
    /// Fingerprint of the pairs trained on.
    corpus: u64,
    /// What every validation found so far.
    #[serde(default)]
    pub(crate) validations: Vec<Validation>,
    /// The other files of the checkpoint.
    files: Vec<FileEntry>,
}

/// Names the checkpoint that a run goes on from.
#[derive(Clone, Debug)]
pub(crate) struct Resumed {
    /// The checkpoint's number.
    pub(crate) interval: usize,
    pub(crate) state: SavedState,
}

impl SavedState {
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// Reads the state of a checkpoint, and says why it cannot be used.
    pub(crate) fn of(checkpoints: &Path, interval: usize) -> Result<Self, String> {
        Self::read(&state_path(checkpoints, interval))
    }

    /// Says whether the weights of the checkpoint are what was saved.
    pub(crate) fn has_whole_weights(&self, checkpoints: &Path, interval: usize) -> bool {
        let name = part_name(MODEL, interval);
        let mut files = self.files.iter();
        files.any(|file| file.name == name && file.is_whole_in(checkpoints))
    }

    fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| error.to_string())?;
        let state: Self = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        match state.format {
            FORMAT => Ok(state),
            format => Err(format!(
                "its format is {format}, and this program reads {FORMAT}"
            )),
        }
    }
}

impl Resumed {
    /// Finds the newest checkpoint that is whole and stands at the end of an interval, and names those that
    /// are passed over. `None` if there is none.
    ///
    /// Refuses a run that has done more updates than are wanted, for none is taken back, and one whose only whole
    /// checkpoint stands within an interval, for to begin anew would delete it.
    pub(crate) fn find(
        checkpoints: &Path,
        experiment: &Experiment,
        say: &Say,
    ) -> Result<Option<Self>, TrainError> {
        let training = &experiment.training;
        let mut within = None;
        for interval in saved(checkpoints, STATE).into_iter().rev() {
            let path = state_path(checkpoints, interval);
            let damage = |what: &str| say_damage(&path, what, say);
            let state = match SavedState::read(&path) {
                Ok(state) => state,
                Err(reason) => {
                    damage(&reason);
                    continue;
                }
            };
            if state.updates > training.updates {
                return Err(TrainError::Shorter {
                    done: state.updates,
                    wanted: training.updates,
                });
            }
            if let Some(file) = state
                .files
                .iter()
                .find(|file| !file.is_whole_in(checkpoints))
            {
                damage(&format!("`{}` is not what was saved", file.name));
                continue;
            }
            // A run that was shorter ended within an interval; a longer one goes on from the one before.
            let is_boundary = state.updates == interval as u64 * training.validation_interval;
            if is_boundary || state.updates == training.updates {
                return Ok(Some(Self { interval, state }));
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

    /// Refuses to go on with other text.
    pub(crate) fn check_corpus(&self, corpus: u64, directory: &Path) -> Result<(), TrainError> {
        if self.state.corpus == corpus {
            return Ok(());
        }
        Err(TrainError::OtherCorpus {
            path: directory.to_owned(),
        })
    }

    /// Deletes the checkpoints that are newer than this one: they are not whole, or will be made again.
    pub(crate) fn delete_newer(&self, checkpoints: &Path) -> Result<(), TrainError> {
        let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let number = name.to_str().and_then(number_of);
            if number.is_some_and(|number| number > self.interval) {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| TrainError::Delete { path, source })?;
            }
        }
        Ok(())
    }
}

/// Lists the settings in which two experiments differ, of those that make another run.
pub(crate) fn differences(
    there: &Experiment,
    here: &Experiment,
) -> Result<Vec<String>, TrainError> {
    // Batches are the same whether one device computes them or several.
    let n_batches = |experiment: &Experiment| experiment.training.batches_per_update();
    let n_batches_there = n_batches(there);
    let is_same_update = n_batches_there == n_batches(here);
    let (there, here) = (flat(there)?, flat(here)?);
    let mut keys: Vec<&String> = there.keys().chain(here.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    // A schedule that ends with the run makes every update depend on its length.
    let key_of_end = "training.updates";
    let has_end = |flat: &BTreeMap<String, String>| {
        let schedule = flat.get("training.schedule").map(String::as_str);
        matches!(schedule, Some("\"linear\"" | "\"cosine\""))
    };
    let has_end = has_end(&there) || has_end(&here);
    let matters = |key: &str| {
        if matches!(key, "training.accumulate" | "training.devices") {
            return !is_same_update;
        }
        (has_end && key == key_of_end)
            || !MAY_DIFFER.iter().any(|free| match free.strip_suffix('.') {
                Some(section) => key.split('.').next() == Some(section),
                None => key == *free,
            })
    };
    let written = |value: Option<&String>| value.map_or_else(|| "not set".to_owned(), Clone::clone);
    let differing = keys
        .into_iter()
        .filter(|key| matters(key) && there.get(*key) != here.get(*key));
    Ok(differing
        .map(|key| {
            let (there, here) = (written(there.get(key)), written(here.get(key)));
            let difference = format!("`{key}` is {here} here and {there} there");
            match key.as_str() {
                "training.devices" => format!(
                    "{difference} (any number can go on if `training.devices` times `training.accumulate` stays \
                     {n_batches_there})"
                ),
                key if key == key_of_end => {
                    format!("{difference} (the learning rate falls to zero at the end, wherever that is)")
                }
                _ => difference,
            }
        })
        .collect())
}

/// Writes every setting as `section.key` and its value; corpora without their paths, as [`MAY_DIFFER`] has it.
fn flat(experiment: &Experiment) -> Result<BTreeMap<String, String>, TrainError> {
    let table: toml::Table = toml::from_str(&experiment.to_toml()?)
        .expect("what was written as TOML can be read as TOML");
    let sections = table.into_iter().flat_map(|(section, value)| {
        let keys = match value {
            toml::Value::Table(keys) => keys.into_iter().collect(),
            value => vec![(String::new(), value)],
        };
        keys.into_iter().map(move |(key, mut value)| {
            for corpus in value.as_array_mut().into_iter().flatten() {
                if let Some(corpus) = corpus.as_table_mut() {
                    corpus.retain(|key, _| !["src", "tgt", "tsv"].contains(&key));
                }
            }
            (format!("{section}.{key}"), value.to_string())
        })
    });
    Ok(sections.collect())
}

/// Writes the files of checkpoints, and a state when all of one are there.
pub(crate) struct Checkpoints {
    directory: PathBuf,
    /// The state, but for what changes.
    template: SavedState,
    training: TrainingSettings,
    history: History,
    started: Instant,
    /// The files of checkpoints that are not complete yet, by number.
    written: Mutex<BTreeMap<usize, Vec<FileEntry>>>,
}

impl Checkpoints {
    pub(crate) fn new(run: &Run<'_>, history: History) -> Self {
        Self {
            directory: run.folder.checkpoints.clone(),
            template: SavedState {
                format: FORMAT,
                updates: 0,
                seconds: run.begun().elapsed.as_secs_f64(),
                n_threads: run.n_threads,
                device: run.surroundings.device_names(),
                corpus: run.prepared.fingerprint,
                validations: Vec::new(),
                files: Vec::new(),
            },
            training: run.experiment.training.clone(),
            history,
            started: Instant::now(),
            written: Mutex::default(),
        }
    }

    /// Writes a file of a checkpoint; the last of them completes it.
    fn write(&self, interval: usize, part: &str, content: &[u8]) -> Result<(), SaveError> {
        let name = part_name(part, interval);
        write_file(&self.directory, &name, content)?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let files = written.entry(interval).or_default();
        files.push(FileEntry::new(name, content));
        if files.len() < PARTS.len() {
            return Ok(());
        }
        let state = SavedState {
            updates: self.training.updates_after(interval),
            validations: self.history.up_to(interval),
            seconds: self.template.seconds + self.started.elapsed().as_secs_f64(),
            files: written.remove(&interval).unwrap_or_default(),
            ..self.template.clone()
        };
        let json = serde_json::to_vec_pretty(&state).expect("a state is numbers and text");
        Ok(write_file(&self.directory, &state_name(interval), &json)?)
    }

    /// Deletes a file of a checkpoint, which is none from then on.
    fn delete(&self, interval: usize, part: &str) -> std::io::Result<()> {
        for name in [state_name(interval), part_name(part, interval)] {
            let path = self.directory.join(name);
            // Whoever keeps another part may delete the same state at this moment.
            match fs::remove_file(&path) {
                Err(error) if path.exists() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Keeps one of the [`PARTS`] of every checkpoint.
pub(crate) struct PartCheckpointer {
    pub(crate) part: &'static str,
    pub(crate) checkpoints: std::sync::Arc<Checkpoints>,
}

impl<R: Checkpoint> Checkpointer<R> for PartCheckpointer {
    fn save(&self, interval: usize, record: R) -> Result<(), CheckpointerError> {
        let bytes = record
            .checkpoint_into_bytes()
            .map_err(CheckpointerError::Record)?;
        self.checkpoints
            .write(interval, self.part, &bytes)
            .map_err(|error| CheckpointerError::Unknown(one_line(&error)))
    }

    fn delete(&self, interval: usize) -> Result<(), CheckpointerError> {
        let deleted = self.checkpoints.delete(interval, self.part);
        deleted.map_err(CheckpointerError::IOError)
    }

    fn restore(&self, interval: usize) -> Result<R, CheckpointerError> {
        let path = self
            .checkpoints
            .directory
            .join(part_name(self.part, interval));
        let bytes = fs::read(path).map_err(CheckpointerError::IOError)?;
        R::checkpoint_from_bytes(Bytes::from_bytes_vec(bytes)).map_err(CheckpointerError::Record)
    }
}

/// Returns the numbers of the checkpoints that have this part, or a [`STATE`], in order.
pub(crate) fn saved(checkpoints: &Path, part: &str) -> Vec<usize> {
    let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_part = names.filter(|name| {
        let rest = name.strip_prefix(part);
        rest.is_some_and(|rest| rest.starts_with('-'))
    });
    let mut numbers: Vec<usize> = of_part.filter_map(|name| number_of(&name)).collect();
    numbers.sort_unstable();
    numbers
}

fn say_damage(state: &Path, what: &str, say: &Say) {
    let state = state.display();
    say(&format!("damaged     `{state}`: {what}; it is passed over"));
}

/// Returns the numbers of the checkpoints whose weights are what was saved, in order, and names those whose are not.
pub(crate) fn with_whole_weights(checkpoints: &Path, say: &Say) -> Vec<usize> {
    let mut intervals = saved(checkpoints, STATE);
    intervals.retain(|interval| {
        let weights = part_name(MODEL, *interval);
        let reason = match SavedState::of(checkpoints, *interval) {
            Ok(state) if state.has_whole_weights(checkpoints, *interval) => return true,
            Ok(_) => format!("`{weights}` is not what was saved"),
            Err(reason) => reason,
        };
        say_damage(&state_path(checkpoints, *interval), &reason, say);
        false
    });
    intervals
}

pub(crate) fn part_name(part: &str, interval: usize) -> String {
    format!("{part}-{interval}.bpk")
}

fn state_name(interval: usize) -> String {
    format!("{STATE}-{interval}.json")
}

fn state_path(checkpoints: &Path, interval: usize) -> PathBuf {
    checkpoints.join(state_name(interval))
}

/// Returns the number of the checkpoint that a file of this name is of.
fn number_of(name: &str) -> Option<usize> {
    let (part, rest) = name.split_once('-')?;
    let number = match part {
        STATE => rest.strip_suffix(".json")?,
        part if PARTS.contains(&part) => rest.strip_suffix(".bpk")?,
        _ => return None,
    };
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_batches(devices: u64, accumulate: u64) -> Experiment {
        let mut experiment =
            Experiment::from_toml_text("", "defaults").expect("the defaults are an experiment");
        experiment.training.devices = devices;
        experiment.training.accumulate = accumulate;
        experiment
    }

    #[test]
    fn other_devices_go_on_if_an_update_has_as_many_batches() {
        let there = with_batches(1, 4);
        let found = differences(&there, &with_batches(2, 2)).expect("settings can be written");
        assert!(found.is_empty(), "{found:?}");

        let found = differences(&there, &with_batches(2, 4)).expect("settings can be written");
        let [named] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(named.starts_with("`training.devices` is 2 here and 1 there"));
        assert!(named.ends_with("`training.devices` times `training.accumulate` stays 4)"));
    }
}
