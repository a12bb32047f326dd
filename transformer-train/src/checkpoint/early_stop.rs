//! When a run ends before its last update: on request, or when its patience is used up.

use std::sync::{Arc, Mutex, PoisonError};

use burn_train::metric::store::EventStoreClient;
use burn_train::{EarlyStoppingStrategy, Interrupter};

use crate::config::TrainingSettings;
use crate::progress::Interrupt;
use crate::validation::{History, is_out_of_patience, wait_for_validation};

/// Burn's strategy that ends the training after an interval, when its checkpoint is written.
#[derive(Clone)]
pub(crate) struct EarlyStop {
    interrupt: Interrupt,
    /// Set by the stop key of the dashboard.
    keys: Interrupter,
    training: TrainingSettings,
    history: History,
    /// The last interval that was decided, and the decision.
    decided: Arc<Mutex<(usize, bool)>>,
}

impl EarlyStop {
    /// Either of `interrupt` and `keys` ends the run after the current interval.
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
            decided: Arc::default(),
        }
    }
}

impl EarlyStoppingStrategy for EarlyStop {
    /// Returns the same decision on every device: each has a clone, and a request may come between
    /// their calls.
    fn should_stop(&mut self, interval: usize, store: &EventStoreClient) -> bool {
        // Devices that save no checkpoint have not waited yet.
        wait_for_validation(store, interval);
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if decided.0 != interval {
            let is_end = self.interrupt.is_requested()
                || self.keys.should_stop()
                || is_out_of_patience(&self.history.up_to(interval), &self.training);
            *decided = (interval, is_end);
        }
        decided.1
    }
}
