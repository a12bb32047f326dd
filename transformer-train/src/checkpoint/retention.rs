//! Which checkpoints stay, and when a run ends before its last update.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use burn_train::checkpoint::{CheckpointingAction, CheckpointingStrategy};
use burn_train::metric::store::{Aggregate, EventStoreClient, Split};
use burn_train::{EarlyStoppingStrategy, Interrupter};

use crate::Interrupt;
use crate::config::TrainingSettings;
use crate::validation::{History, PERPLEXITY, best, is_out_of_patience};

/// Keeps the checkpoints of the last intervals and of the best.
pub(crate) struct Keep {
    training: TrainingSettings,
    history: History,
    kept: BTreeSet<usize>,
}

impl Keep {
    /// `there` are the checkpoints of a run that goes on.
    pub(crate) fn new(
        training: &TrainingSettings,
        history: History,
        there: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            training: training.clone(),
            history,
            kept: there.into_iter().collect(),
        }
    }

    /// Returns the checkpoints to delete when that of an interval is saved.
    fn outdated(&mut self, interval: usize) -> Vec<usize> {
        self.kept.insert(interval);
        let n_last = self.training.n_last();
        let mut stay: BTreeSet<usize> = self.kept.iter().rev().take(n_last).copied().collect();
        // The last interval may be a short one, which is done again when the run is made longer: what was the
        // best without it stays as well.
        for end in [interval, interval - 1] {
            let validations = self.history.up_to(end);
            let n_best = self.training.n_best();
            stay.extend(best(&validations, self.training.best_by, n_best));
            if self.training.is_whole(interval) {
                break;
            }
        }
        let outdated: Vec<usize> = self.kept.difference(&stay).copied().collect();
        self.kept.retain(|interval| stay.contains(interval));
        outdated
    }
}

impl CheckpointingStrategy for Keep {
    fn checkpointing(
        &mut self,
        interval: usize,
        store: &EventStoreClient,
    ) -> Vec<CheckpointingAction> {
        // The history goes into the state of this checkpoint.
        wait_for_log(store, interval);
        let outdated = self.outdated(interval);
        let deleted = outdated.into_iter().map(CheckpointingAction::Delete);
        std::iter::once(CheckpointingAction::Save)
            .chain(deleted)
            .collect()
    }
}

/// Waits until all that was measured before is logged, and so in the history: the store logs on a thread of its own,
/// and answers in order.
fn wait_for_log(store: &EventStoreClient, interval: usize) {
    let _ = store.find_metric(PERPLEXITY, interval, Aggregate::Mean, &Split::Valid);
}

/// Ends the training after an interval, when its checkpoint is written: on request, or when patience is at
/// its end.
#[derive(Clone)]
pub(crate) struct Stop {
    interrupt: Interrupt,
    /// What the dashboard's key asks.
    keys: Interrupter,
    training: TrainingSettings,
    history: History,
    /// The last interval that was asked about, and the answer.
    last: Arc<Mutex<(usize, bool)>>,
}

impl Stop {
    /// `interrupt` and `keys` ask the run to end after the interval.
    pub(crate) fn new(
        interrupt: &Interrupt,
        keys: &Interrupter,
        training: &TrainingSettings,
        history: History,
    ) -> Self {
        Self {
            interrupt: interrupt.clone(),
            keys: keys.clone(),
            training: training.clone(),
            history,
            last: Arc::default(),
        }
    }
}

impl EarlyStoppingStrategy for Stop {
    /// Gives every device the same answer: each has a clone, and a request may come between their questions.
    fn should_stop(&mut self, interval: usize, store: &EventStoreClient) -> bool {
        // Not every device saves, which waits as well.
        wait_for_log(store, interval);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != interval {
            let is_end = self.interrupt.is_requested()
                || self.keys.should_stop()
                || is_out_of_patience(&self.history.up_to(interval), &self.training);
            *last = (interval, is_end);
        }
        last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::Validation;

    /// Runs intervals of these perplexities, and returns the checkpoints that are there at the end.
    fn kept(training: &TrainingSettings, perplexities: &[f64]) -> Vec<usize> {
        let history = History::default();
        let mut keep = Keep::new(training, history.clone(), []);
        let mut there = BTreeSet::new();
        for (index, &perplexity) in perplexities.iter().enumerate() {
            let interval = index + 1;
            history.add(Validation {
                interval,
                perplexity,
                bleu: 0.0,
                chrf: 0.0,
            });
            there.insert(interval);
            for outdated in keep.outdated(interval) {
                assert!(there.remove(&outdated), "{outdated} is deleted twice");
            }
        }
        there.into_iter().collect()
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
    fn the_last_checkpoints_stay() {
        assert_eq!(kept(&training(0), &PERPLEXITIES), [5, 6]);
    }

    #[test]
    fn the_best_checkpoints_stay_as_well() {
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
    fn a_short_last_interval_puts_out_no_checkpoint_that_a_longer_run_would_have() {
        let training = TrainingSettings {
            updates: 35,
            ..training(1)
        };
        assert_eq!(kept(&training, &[2.0, 5.0, 4.0, 1.0]), [1, 3, 4]);
    }
}
