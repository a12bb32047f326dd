//! The last update of a training that several devices share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use burn_train::Interrupter;

/// Ends a training at the same update on all devices.
///
/// Devices that add up their gradients between them wait for each other: if one of them stopped an update
/// before another, that one would wait for ever. So the first that asks for an update finds out whether it is
/// begun, and the others follow.
#[derive(Default)]
pub(crate) struct Gate {
    is_closed: AtomicBool,
    /// Updates that some device has begun.
    n_begun: Mutex<u64>,
    interrupter: Interrupter,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("is_closed", &self.is_closed)
            .field("n_begun", &self.n_begun)
            .finish_non_exhaustive()
    }
}

impl Gate {
    pub(crate) fn new(interrupter: &Interrupter) -> Self {
        Self {
            interrupter: interrupter.clone(),
            ..Self::default()
        }
    }

    /// Lets no device begin an update that none has begun.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Says whether a device may begin an update, which is counted from 0; where not, the training is at its
    /// end.
    pub(crate) fn lets_in(&self, update: u64) -> bool {
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
    fn a_device_that_is_behind_does_the_last_update_of_the_others_too() {
        let interrupter = Interrupter::new();
        let gate = Gate::new(&interrupter);
        assert!(gate.lets_in(6));
        gate.close();
        assert!(gate.lets_in(6), "another device has begun it");
        assert!(!interrupter.should_stop(), "nobody is at the end yet");
        assert!(!gate.lets_in(7) && interrupter.should_stop());
    }
}
