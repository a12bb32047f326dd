//! [`ReadOnlyCheckpointer`]: the checkpointer of processes that save nothing.

use std::path::{Path, PathBuf};

use burn::tensor::Bytes;
use burn_train::checkpoint::{
    Checkpoint, Checkpointer, CheckpointerError, CheckpointingAction, CheckpointingStrategy,
};
use burn_train::metric::store::EventStoreClient;
use transformer_core::regular_file;

use super::files::part_name;
use crate::config::TrainingSettings;

/// Burn's checkpointer of a part, for processes that resume from a checkpoint but write none.
pub(crate) struct ReadOnlyCheckpointer {
    checkpoints: PathBuf,
    training: TrainingSettings,
    part: &'static str,
}

impl ReadOnlyCheckpointer {
    pub(crate) fn new(checkpoints: &Path, training: &TrainingSettings, part: &'static str) -> Self {
        Self {
            checkpoints: checkpoints.to_owned(),
            training: training.clone(),
            part,
        }
    }
}

impl<R: Checkpoint> Checkpointer<R> for ReadOnlyCheckpointer {
    fn save(&self, _interval: usize, _record: R) -> Result<(), CheckpointerError> {
        Ok(())
    }

    fn delete(&self, _interval: usize) -> Result<(), CheckpointerError> {
        Ok(())
    }

    fn restore(&self, interval: usize) -> Result<R, CheckpointerError> {
        let n_updates = self.training.updates_after(interval);
        let path = self.checkpoints.join(part_name(self.part, n_updates));
        let bytes = regular_file::read(&path, u64::MAX).map_err(CheckpointerError::IOError)?;
        R::checkpoint_from_bytes(Bytes::from_bytes_vec(bytes)).map_err(CheckpointerError::Record)
    }
}

/// Burn's strategy of processes that write no checkpoints.
pub(crate) struct NoCheckpoints;

impl CheckpointingStrategy for NoCheckpoints {
    fn checkpointing(
        &mut self,
        _interval: usize,
        _store: &EventStoreClient,
    ) -> Vec<CheckpointingAction> {
        Vec::new()
    }
}
