//! How a program ends a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a run to end early; clones share the request.
///
/// Before the first update the run ends at once and leaves nothing behind. Later it ends after the
/// current interval, when its checkpoint is written.
///
/// # Example
///
/// ```
/// use transformer_train::{Interrupt, Stage};
///
/// let interrupt = Interrupt::default();
/// assert_eq!(interrupt.request(), Some(Stage::Preparing));
/// assert_eq!(interrupt.request(), None); // It was requested before.
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_requested: AtomicBool,
    is_training: AtomicBool,
}

/// The stage of a run at which an interrupt is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The run reads text or trains tokenizers: nothing is lost.
    Preparing,
    /// The run trains: the updates since the last checkpoint are worth waiting for.
    Training,
}

impl Interrupt {
    /// Asks the run to end. Returns its stage, or `None` if this was requested before.
    pub fn request(&self) -> Option<Stage> {
        if self.0.is_requested.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(match self.0.is_training.load(Ordering::SeqCst) {
            true => Stage::Training,
            false => Stage::Preparing,
        })
    }

    /// Returns whether somebody has requested the end of the run.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.is_requested.load(Ordering::SeqCst)
    }

    /// Marks the start of the updates: from now on a request waits for the end of the interval.
    pub(crate) fn begin_training(&self) {
        self.0.is_training.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_returns_the_stage_of_the_run() {
        let interrupt = Interrupt::default();
        interrupt.begin_training();
        assert!(!interrupt.is_requested());
        assert_eq!(interrupt.clone().request(), Some(Stage::Training));
        assert!(interrupt.is_requested());
    }
}
