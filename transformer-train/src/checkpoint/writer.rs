//! Writes the files of checkpoints: Burn's three parts on three threads, then the state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use burn::tensor::Bytes;
use burn_train::checkpoint::{Checkpoint, Checkpointer, CheckpointerError};
use parking_lot::Mutex;
use transformer_core::directory::{FileEntry, write_file};
use transformer_core::regular_file;
use transformer_core::text::one_line;

use super::files::{PARTS, part_name, state_name};
use super::state::SavedState;
use crate::batching::Plan;
use crate::config::TrainingSettings;
use crate::error::TrainError;
use crate::validation::History;

/// Writes the parts of checkpoints, and the state of a checkpoint once all its parts are on disk.
pub(crate) struct CheckpointWriter {
    pub(crate) checkpoints: PathBuf,
    /// True in the process of rank 0. The others only read.
    pub(crate) can_write: bool,
    /// The state at which this program started.
    pub(crate) start: SavedState,
    pub(crate) training: TrainingSettings,
    pub(crate) history: History,
    pub(crate) plan: Arc<Mutex<Plan>>,
    pub(crate) started: Instant,
    /// The files of checkpoints that are not complete yet, by interval.
    pub(crate) written: Mutex<BTreeMap<usize, Vec<FileEntry>>>,
}

impl CheckpointWriter {
    pub(super) fn path(&self, part: &str, interval: usize) -> PathBuf {
        self.checkpoints
            .join(part_name(part, self.updates(interval)))
    }

    fn check_can_write(&self) -> Result<(), CheckpointerError> {
        let error = || "only the process of rank 0 changes checkpoints".to_owned();
        match self.can_write {
            true => Ok(()),
            false => Err(CheckpointerError::Unknown(error())),
        }
    }

    fn updates(&self, interval: usize) -> u64 {
        self.training.updates_after(interval)
    }

    /// Writes a part of a checkpoint; the last part completes it.
    fn write(&self, interval: usize, part: &str, content: &[u8]) -> Result<(), TrainError> {
        let updates = self.updates(interval);
        let name = part_name(part, updates);
        write_file(&self.checkpoints, &name, content)?;
        let mut written = self.written.lock();
        let files = written.entry(interval).or_default();
        files.push(FileEntry::new(name, content));
        if files.len() < PARTS.len() {
            return Ok(());
        }
        let state = SavedState {
            updates,
            validations: self.history.up_to(interval),
            passes: self.plan.lock().pass_starts().to_vec(),
            seconds: self.start.seconds + self.started.elapsed().as_secs_f64(),
            files: written.remove(&interval).unwrap_or_default(),
            ..self.start.clone()
        };
        let (name, json) = (state_name(updates), state.to_json());
        Ok(write_file(&self.checkpoints, &name, json.as_bytes())?)
    }

    /// Deletes a part of a checkpoint, its state first: a checkpoint without a state is incomplete.
    fn delete(&self, interval: usize, part: &str) -> io::Result<()> {
        let updates = self.updates(interval);
        for name in [state_name(updates), part_name(part, updates)] {
            let path = self.checkpoints.join(name);
            // The thread of another part may delete the same state at this moment.
            match fs::remove_file(&path) {
                Err(error) if path.exists() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Burn's checkpointer of one of the [`PARTS`]. Processes other than rank 0 only read with it.
pub(crate) struct PartCheckpointer {
    pub(crate) part: &'static str,
    pub(crate) writer: Arc<CheckpointWriter>,
}

impl<R: Checkpoint> Checkpointer<R> for PartCheckpointer {
    fn save(&self, interval: usize, record: R) -> Result<(), CheckpointerError> {
        self.writer.check_can_write()?;
        let bytes = record
            .checkpoint_into_bytes()
            .map_err(CheckpointerError::Record)?;
        self.writer
            .write(interval, self.part, &bytes)
            .map_err(|error| CheckpointerError::Unknown(one_line(&error)))
    }

    fn delete(&self, interval: usize) -> Result<(), CheckpointerError> {
        self.writer.check_can_write()?;
        let deleted = self.writer.delete(interval, self.part);
        deleted.map_err(CheckpointerError::IOError)
    }

    fn restore(&self, interval: usize) -> Result<R, CheckpointerError> {
        let path = self.writer.path(self.part, interval);
        let bytes = regular_file::read(&path, u64::MAX).map_err(CheckpointerError::IOError)?;
        R::checkpoint_from_bytes(Bytes::from_bytes_vec(bytes)).map_err(CheckpointerError::Record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_other_than_rank_0_only_read() {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let checkpointer = |can_write| {
            let plan = Plan::new(&[(1, 1)], &TrainingSettings::default());
            PartCheckpointer {
                part: PARTS[0],
                writer: Arc::new(CheckpointWriter {
                    checkpoints: folder.path().to_owned(),
                    can_write,
                    start: SavedState::default(),
                    training: TrainingSettings::default(),
                    history: History::default(),
                    plan: Arc::new(Mutex::new(plan.expect("the sentence is short"))),
                    started: Instant::now(),
                    written: Mutex::default(),
                }),
            }
        };
        let n_files = || fs::read_dir(folder.path()).map_or(0, Iterator::count);
        let refused = |changed: Result<(), CheckpointerError>| {
            let message = changed.expect_err("it only reads").to_string();
            assert!(
                message.contains("only the process of rank 0 changes checkpoints"),
                "{message}"
            );
        };
        let (first, other) = (checkpointer(true), checkpointer(false));
        refused(other.save(1, ()));
        assert_eq!(n_files(), 0);
        first.save(1, ()).expect("the folder is writable");
        assert_eq!(n_files(), 1);
        refused(Checkpointer::<()>::delete(&other, 1));
        assert_eq!(n_files(), 1);
        let () = other.restore(1).expect("the file is there");
        Checkpointer::<()>::delete(&first, 1).expect("the folder is writable");
        assert_eq!(n_files(), 0);
    }
}
