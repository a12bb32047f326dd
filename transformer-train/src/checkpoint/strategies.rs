//! Burn's strategies at the end of an interval: which checkpoints are kept, and whether the run ends early.

use std::collections::BTreeSet;
use std::sync::Arc;

use burn_train::checkpoint::{CheckpointingAction, CheckpointingStrategy};
use burn_train::metric::store::EventStoreClient;
use burn_train::{EarlyStoppingStrategy, Interrupter};
use parking_lot::Mutex;

use crate::config::TrainingSettings;
use crate::progress::Interrupt;
use crate::step::WeightCheck;
use crate::validation::{History, best, is_out_of_patience, wait_for_validation};

/// Burn's strategy that saves every interval, and deletes the checkpoints that are neither among the last nor among the
/// best.
pub(crate) struct Retention {
    pub(crate) training: TrainingSettings,
    pub(crate) history: History,
    /// The checkpoints that exist and may be deleted.
    pub(crate) kept: BTreeSet<usize>,
}

impl Retention {
    fn outdated(&mut self, interval: usize) -> Vec<usize> {
        self.kept.insert(interval);
        let n_last = self.training.n_last();
        let mut keep: BTreeSet<usize> = self.kept.iter().rev().take(n_last).copied().collect();
        // The last interval may be a short one, which is trained again if the run is extended: the best checkpoints
        // without it are kept as well.
        for end in [interval, interval - 1] {
            let validations = self.history.up_to(end);
            let n_best = self.training.n_best();
            keep.extend(best(&validations, self.training.best_by, n_best));
            if self.training.is_whole(interval) {
                break;
            }
        }
        let outdated: Vec<usize> = self.kept.difference(&keep).copied().collect();
        self.kept.retain(|interval| keep.contains(interval));
        outdated
    }
}

impl CheckpointingStrategy for Retention {
    fn checkpointing(
        &mut self,
        interval: usize,
        store: &EventStoreClient,
    ) -> Vec<CheckpointingAction> {
        // The validation of this interval goes into the state of this checkpoint.
        wait_for_validation(store, interval);
        let outdated = self.outdated(interval);
        let deleted = outdated.into_iter().map(CheckpointingAction::Delete);
        std::iter::once(CheckpointingAction::Save)
            .chain(deleted)
            .collect()
    }
}

/// Burn's strategy that ends the training after an interval, once its checkpoint is written.
///
/// All processes decide together, and only rank 0 knows the history.
#[derive(Clone)]
pub(crate) struct EarlyStop {
    pub(crate) interrupt: Interrupt,
    pub(crate) dashboard_stop: Interrupter,
    pub(crate) training: TrainingSettings,
    pub(crate) history: History,
    /// The processes that end together; weights that differ end the run too.
    pub(crate) weights: WeightCheck,
    /// The last interval that was decided, and the decision; all clones share it.
    pub(crate) decided: Arc<Mutex<(usize, bool)>>,
}

impl EarlyStoppingStrategy for EarlyStop {
    /// Returns the same decision on every device, even if Ctrl-C is pressed between the calls of two devices.
    fn should_stop(&mut self, interval: usize, store: &EventStoreClient) -> bool {
        // Only the device that saves checkpoints has waited for the validation so far.
        wait_for_validation(store, interval);
        let mut decided = self.decided.lock();
        if decided.0 != interval {
            let is_end = self.interrupt.is_requested()
                || self.dashboard_stop.should_stop()
                || self.weights.has_failed()
                || is_out_of_patience(&self.history.up_to(interval), &self.training);
            *decided = (interval, self.weights.ranks().any(is_end));
        }
        decided.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::Validation;

    /// Runs intervals of these perplexities, and returns the checkpoints that remain.
    fn kept(training: &TrainingSettings, perplexities: &[f64]) -> Vec<usize> {
        let history = History::default();
        let mut retention = Retention {
            training: training.clone(),
            history: history.clone(),
            kept: BTreeSet::new(),
        };
        let mut existing = BTreeSet::new();
        for (index, &perplexity) in perplexities.iter().enumerate() {
            let interval = index + 1;
            history.add(Validation {
                interval,
                perplexity,
                bleu: 0.0,
                chrf: 0.0,
                command: None,
            });
            existing.insert(interval);
            for outdated in retention.outdated(interval) {
                assert!(existing.remove(&outdated), "{outdated} is deleted twice");
            }
        }
        existing.into_iter().collect()
    }

    fn training(keep_best: usize) -> TrainingSettings {
        TrainingSettings {
            updates: 60,
            validation_interval: 10,
            average_last: 2,
            keep_best,
            ..TrainingSettings::default()
        }
    }

    const PERPLEXITIES: [f64; 6] = [9.0, 3.0, 5.0, 4.0, 8.0, 7.0];

    #[test]
    fn the_last_checkpoints_are_kept() {
        assert_eq!(kept(&training(0), &PERPLEXITIES), [5, 6]);
    }

    #[test]
    fn more_of_the_last_checkpoints_are_kept_on_request() {
        let training = TrainingSettings {
            keep_last: 4,
            ..training(0)
        };
        assert_eq!(kept(&training, &PERPLEXITIES), [3, 4, 5, 6]);
    }

    #[test]
    fn the_best_checkpoints_are_kept_as_well() {
        assert_eq!(kept(&training(2), &PERPLEXITIES), [2, 4, 5, 6]);
    }

    #[test]
    fn patience_keeps_the_best_checkpoint() {
        let training = TrainingSettings {
            patience: Some(9),
            ..training(0)
        };
        assert_eq!(kept(&training, &PERPLEXITIES), [2, 5, 6]);
    }

    #[test]
    fn a_short_last_interval_deletes_no_checkpoint_that_a_longer_run_would_keep() {
        let training = TrainingSettings {
            updates: 35,
            ..training(1)
        };
        assert_eq!(kept(&training, &[2.0, 5.0, 4.0, 1.0]), [1, 3, 4]);
    }
}
