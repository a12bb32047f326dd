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
    /// Set when the user stops the run in the dashboard.
    dashboard_stop: Interrupter,
    training: TrainingSettings,
    history: History,
    /// The last interval that was decided, and the decision; all clones share it.
    decided: Arc<Mutex<(usize, bool)>>,
}

impl EarlyStop {
    /// Either of `interrupt` and `dashboard_stop` ends the run after the current interval.
    pub(crate) fn new(
        interrupt: &Interrupt,
        dashboard_stop: &Interrupter,
        training: &TrainingSettings,
        history: History,
    ) -> Self {
        Self {
            interrupt: interrupt.clone(),
            dashboard_stop: dashboard_stop.clone(),
            training: training.clone(),
            history,
            decided: Arc::default(),
        }
    }
}

impl EarlyStoppingStrategy for EarlyStop {
    /// Returns the same decision on every device, even if Ctrl-C is pressed between the calls of two
    /// devices.
    fn should_stop(&mut self, interval: usize, store: &EventStoreClient) -> bool {
        // Only the device that saves checkpoints has waited for the validation so far.
        wait_for_validation(store, interval);
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if decided.0 != interval {
            let is_end = self.interrupt.is_requested()
                || self.dashboard_stop.should_stop()
                || is_out_of_patience(&self.history.up_to(interval), &self.training);
            *decided = (interval, is_end);
        }
        decided.1
    }
}
