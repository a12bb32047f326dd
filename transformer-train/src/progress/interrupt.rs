//! How a program ends a run before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a run to end; its clones are one.
///
/// Before the first update a run ends at once and leaves nothing behind. Afterwards it ends after the
/// interval, with its checkpoint written.
///
/// # Example
///
/// ```
/// use transformer_train::{Interrupt, Stage};
///
/// let interrupt = Interrupt::default();
/// assert_eq!(interrupt.request(), Some(Stage::Preparing));
/// assert_eq!(interrupt.request(), None); // Somebody has asked before.
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_requested: AtomicBool,
    is_training: AtomicBool,
}

/// Says where in a run a request to end comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text is read, or tokenizers are trained: nothing is lost.
    Preparing,
    /// Updates are made: those since the last checkpoint are worth waiting for.
    Training,
}

impl Interrupt {
    /// Asks the run to end. Returns where it is, or `None` if it was asked before.
    pub fn request(&self) -> Option<Stage> {
        if self.0.is_requested.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(match self.0.is_training.load(Ordering::SeqCst) {
            true => Stage::Training,
            false => Stage::Preparing,
        })
    }

    /// Says whether the run is to end.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.is_requested.load(Ordering::SeqCst)
    }

    /// Hears that updates begin. From then on a request waits for the interval's end.
    pub(crate) fn begin_training(&self) {
        self.0.is_training.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_where_the_run_is() {
        let interrupt = Interrupt::default();
        interrupt.begin_training();
        assert!(!interrupt.is_requested());
        assert_eq!(interrupt.clone().request(), Some(Stage::Training));
        assert!(interrupt.is_requested());
    }
}
