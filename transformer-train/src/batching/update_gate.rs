//! Makes training on several devices stop at the same update.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use burn_train::Interrupter;

/// Stops training after the same update on all devices.
///
/// Devices that sum their gradients wait for each other: if one stopped an update before another, the other would wait
/// forever. So once the gate is closed, no device begins an update that no other has begun, and every device completes
/// the updates that another has begun.
#[derive(Default)]
pub(crate) struct UpdateGate {
    is_closed: AtomicBool,
    /// Number of updates that any device has begun.
    n_begun: Mutex<u64>,
    interrupter: Interrupter,
}

impl UpdateGate {
    pub(crate) fn new(interrupter: &Interrupter) -> Self {
        Self {
            interrupter: interrupter.clone(),
            ..Self::default()
        }
    }

    /// Stops training after the updates begun so far.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Returns whether a device may begin an update, counted from 0. If not, stops the training.
    pub(crate) fn may_begin(&self, update: u64) -> bool {
        let mut n_begun = self.n_begun.lock().unwrap_or_else(PoisonError::into_inner);
        if update < *n_begun {
            return true;
        }
        if self.is_closed.load(Ordering::Relaxed) {
            self.interrupter.stop(None);
            return false;
        }
        *n_begun = update + 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_closing_every_device_completes_the_updates_begun_by_another() {
        let interrupter = Interrupter::new();
        let gate = UpdateGate::new(&interrupter);
        assert!(gate.may_begin(6));
        gate.close();
        assert!(gate.may_begin(6), "another device has begun it");
        assert!(!interrupter.should_stop(), "no device has finished");
        assert!(!gate.may_begin(7) && interrupter.should_stop());
    }
}
