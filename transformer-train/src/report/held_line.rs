//! A line that waits until what it reports is on the disk.

use std::sync::{Arc, Mutex, PoisonError};

use super::Say;

/// Holds the line of an interval back until its model is saved: who reads the line may end the run.
#[derive(Clone)]
pub(crate) struct HeldLine {
    say: Say,
    line: Arc<Mutex<Option<String>>>,
}

impl HeldLine {
    pub(crate) fn new(say: Say) -> Self {
        Self {
            say,
            line: Arc::default(),
        }
    }

    /// Takes a line.
    pub(crate) fn hold(&self, line: String) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    }

    /// Says the line, if one is held.
    pub(crate) fn say(&self) {
        let line = self
            .line
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(line) = line {
            (self.say)(&line);
        }
    }
}
