//! What a run needs to go on where it was, and which of its checkpoints is whole.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::tensor::Bytes;
use burn_train::checkpoint::{Checkpoint, Checkpointer, CheckpointerError};
use serde::{Deserialize, Serialize};
use transformer_core::directory::{DirectoryError, FileEntry, write_file};
use transformer_infer::one_line;

use crate::TrainError;
use crate::batching::Plan;
use crate::checkpoint::SaveError;
use crate::config::{Experiment, TrainingSettings};
use crate::progress::LogFn;
use crate::run::Run;
use crate::validation::{History, Validation};

/// The version of the states that this program writes, and the only one that it reads.
const FORMAT: u64 = 1;

/// The files of a checkpoint: weights, Adam's moments, and the place in the schedule.
pub(crate) const PARTS: [&str; 3] = [MODEL, "optim", "scheduler"];

/// The part that holds the weights.
pub(crate) const MODEL: &str = "model";

/// What the name of a state begins with.
pub(crate) const STATE: &str = "state";

/// The hash of a state in its own text, before it is known.
const NO_HASH: &str = "\"sha256\": \"\"";

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
    /// Fingerprint of what was validated on, and how.
    #[serde(default)]
    pub(crate) measure: Option<u64>,
    /// Checkpoints that were the best by other measures, which are kept.
    #[serde(default)]
    pub(crate) pinned: Vec<usize>,
    /// The first batch of each pass over the data that was planned.
    #[serde(default)]
    pub(crate) passes: Vec<u64>,
    /// The other files of the checkpoint.
    files: Vec<FileEntry>,
    /// Hash of the text of this state without it.
    #[serde(default)]
    sha256: String,
}

/// Says why a checkpoint is not gone on from.
#[derive(Debug)]
enum Unusable {
    /// It is not what was saved.
    Damaged(String),
    /// The system does not give it; it may be whole.
    Unread(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Damaged(error.to_string()),
            _ => Self::Unread(error),
        }
    }
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
        Self::read(&state_path(checkpoints, interval)).map_err(|why| match why {
            Unusable::Damaged(what) => what,
            Unusable::Unread(error) => error.to_string(),
        })
    }

    /// Says whether the weights of the checkpoint are what was saved.
    pub(crate) fn has_whole_weights(&self, checkpoints: &Path, interval: usize) -> bool {
        let name = part_name(MODEL, interval);
        let mut files = self.files.iter();
        files.any(|file| file.name == name && file.is_intact_in(checkpoints))
    }

    fn read(path: &Path) -> Result<Self, Unusable> {
        let text = fs::read(path)?;
        let text = String::from_utf8_lossy(&text);
        let state: Self =
            serde_json::from_str(&text).map_err(|error| Unusable::Damaged(error.to_string()))?;
        if state.format != FORMAT {
            return Err(Unusable::Damaged(format!(
                "its format is {}, and this program reads {FORMAT}",
                state.format
            )));
        }
        let hash = format!("\"sha256\": \"{}\"", state.sha256);
        let is_whole = || hash_of(&text.replacen(&hash, NO_HASH, 1)) == state.sha256;
        // Earlier versions wrote none.
        match state.sha256.is_empty() || is_whole() {
            true => Ok(state),
            false => Err(Unusable::Damaged("it is not what was saved".to_owned())),
        }
    }

    /// Checks that every file of the checkpoint is what was saved.
    fn check_files(&self, checkpoints: &Path) -> Result<(), Unusable> {
        for file in &self.files {
            file.check_in(checkpoints).map_err(|error| match error {
                // What the disk does not give may be whole when it does.
                DirectoryError::Read { source, .. } => Unusable::Unread(source),
                _ => Unusable::Damaged(format!("`{}` is not what was saved", file.name)),
            })?;
        }
        Ok(())
    }

    /// Returns the text of the state, with its hash.
    fn sealed(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a state is numbers and text");
        let hash = format!("\"sha256\": \"{}\"", hash_of(&text));
        text.replacen(NO_HASH, &hash, 1)
    }
}

/// Returns the SHA-256 of a text.
fn hash_of(text: &str) -> String {
    FileEntry::new(String::new(), text.as_bytes()).sha256
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
        log: &LogFn,
    ) -> Result<Option<Self>, TrainError> {
        let training = &experiment.training;
        let mut within = None;
        for interval in saved(checkpoints, STATE).into_iter().rev() {
            let path = state_path(checkpoints, interval);
            let read = SavedState::read(&path);
            if let Ok(state) = &read
                && state.updates > training.updates
            {
                return Err(TrainError::Shorter {
                    done: state.updates,
                    wanted: training.updates,
                });
            }
            let whole = read.and_then(|state| state.check_files(checkpoints).map(|()| state));
            let state = match whole {
                Ok(state) => state,
                Err(Unusable::Damaged(what)) => {
                    log_damage(&path, &what, log);
                    continue;
                }
                Err(Unusable::Unread(source)) => return Err(TrainError::Unread { path, source }),
            };
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

/// Writes the files of checkpoints, and a state when all of one are there.
pub(crate) struct Checkpoints {
    directory: PathBuf,
    /// The state, but for what changes.
    template: SavedState,
    training: TrainingSettings,
    history: History,
    plan: Arc<Mutex<Plan>>,
    started: Instant,
    /// The files of checkpoints that are not complete yet, by number.
    written: Mutex<BTreeMap<usize, Vec<FileEntry>>>,
}

impl Checkpoints {
    /// `plan` is the one that the training goes by.
    pub(crate) fn new(run: &Run<'_>, history: History, plan: Arc<Mutex<Plan>>) -> Self {
        Self {
            directory: run.folder.checkpoints.clone(),
            template: SavedState {
                format: FORMAT,
                updates: 0,
                seconds: run.begun().elapsed.as_secs_f64(),
                n_threads: run.n_threads,
                device: run.environment.device_names(),
                corpus: run.prepared.fingerprint,
                validations: Vec::new(),
                measure: Some(run.measure()),
                pinned: run.pinned().to_vec(),
                passes: Vec::new(),
                files: Vec::new(),
                sha256: String::new(),
            },
            training: run.experiment.training.clone(),
            history,
            plan,
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
            passes: {
                let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
                plan.pass_starts().to_vec()
            },
            seconds: self.template.seconds + self.started.elapsed().as_secs_f64(),
            files: written.remove(&interval).unwrap_or_default(),
            ..self.template.clone()
        };
        let name = state_name(interval);
        Ok(write_file(
            &self.directory,
            &name,
            state.sealed().as_bytes(),
        )?)
    }

    /// Deletes a file of a checkpoint, which is none from then on.
    fn delete(&self, interval: usize, part: &str) -> io::Result<()> {
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
    pub(crate) checkpoints: Arc<Checkpoints>,
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

fn log_damage(state: &Path, what: &str, log: &LogFn) {
    let state = state.display();
    log(&format!("damaged     `{state}`: {what}; it is passed over"));
}

/// Returns those of some checkpoints, in order, that are of the last so many intervals: an older one that was kept as one of
/// the best is none of them.
pub(crate) fn last_of(checkpoints: &[usize], n_intervals: usize) -> &[usize] {
    let newest = checkpoints.last().copied().unwrap_or_default();
    let first = checkpoints.partition_point(|interval| interval + n_intervals <= newest);
    &checkpoints[first..]
}

/// Returns the numbers of the checkpoints whose weights are what was saved, in order, and names those whose are not.
pub(crate) fn with_whole_weights(checkpoints: &Path, log: &LogFn) -> Vec<usize> {
    let mut intervals = saved(checkpoints, STATE);
    intervals.retain(|interval| {
        let weights = part_name(MODEL, *interval);
        let reason = match SavedState::of(checkpoints, *interval) {
            Ok(state) if state.has_whole_weights(checkpoints, *interval) => return true,
            Ok(_) => format!("`{weights}` is not what was saved"),
            Err(reason) => reason,
        };
        log_damage(&state_path(checkpoints, *interval), &reason, log);
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

    #[test]
    fn an_older_checkpoint_is_none_of_the_last() {
        assert_eq!(last_of(&[2, 4, 5, 6], 3), [4, 5, 6]);
        assert_eq!(last_of(&[2, 5, 6], 4), [5, 6]);
        assert_eq!(last_of(&[6], 1), [6]);
        assert!(last_of(&[], 3).is_empty());
    }
}
