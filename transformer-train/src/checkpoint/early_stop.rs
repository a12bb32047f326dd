//! The early end of a run before its last update: on request, or when its patience is used up.

use std::sync::{Arc, Mutex, PoisonError};

use burn_train::metric::store::EventStoreClient;
use burn_train::{EarlyStoppingStrategy, Interrupter};

use crate::config::TrainingSettings;
use crate::progress::Interrupt;
use crate::step::WeightCheck;
use crate::validation::{History, is_out_of_patience, wait_for_validation};

/// Burn's strategy that ends the training after an interval, once its checkpoint is written.
///
/// All processes decide together, and only rank 0 knows the history.
#[derive(Clone)]
pub(crate) struct EarlyStop {
    pub(crate) interrupt: Interrupt,
    /// Set when the user stops the run in the dashboard.
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
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
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
