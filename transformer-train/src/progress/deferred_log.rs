//! Log lines that wait until the model they report on is on disk.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use derive_new::new;

use crate::progress::LogFn;

/// Holds back the log entry of an interval until its model is saved, because a user who reads it may end the run.
///
/// Models are saved on another thread, in the order of their intervals, and may lag one interval.
#[derive(Clone, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct DeferredLog {
    log: LogFn,
    #[new(default)]
    entries: Arc<Mutex<VecDeque<String>>>,
}

impl DeferredLog {
    /// Adds the entry of an interval, of one or more lines.
    pub(crate) fn push(&self, entry: String) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push_back(entry);
    }

    /// Logs the oldest entry, now that its model is saved.
    pub(crate) fn release_oldest(&self) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.pop_front() {
            entry.lines().for_each(|line| (self.log)(line));
        }
    }

    /// Logs all entries that are left at the end of a run.
    pub(crate) fn release_all(&self) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = entries.iter().flat_map(|entry| entry.lines());
        lines.for_each(|line| (self.log)(line));
        entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_wait_for_their_model_and_none_is_lost() {
        let logged = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&logged);
        let deferred = DeferredLog::new(Arc::new(move |line: &str| {
            lines
                .lock()
                .expect("nobody panics with it")
                .push(line.to_owned());
        }));
        deferred.push("one".to_owned());
        deferred.push("two".to_owned());
        deferred.release_oldest();
        assert_eq!(*logged.lock().expect("nobody panics with it"), ["one"]);
        deferred.release_all();
        assert_eq!(
            *logged.lock().expect("nobody panics with it"),
            ["one", "two"]
        );
    }
}
