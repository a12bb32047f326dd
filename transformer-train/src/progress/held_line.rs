//! Lines that wait until what they report is on the disk.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::progress::Say;

/// Holds the line of an interval back until its model is saved: who reads the line may end the run.
///
/// Models are saved on another thread, in the order of their lines, and may be an interval behind.
#[derive(Clone)]
pub(crate) struct HeldLine {
    say: Say,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl HeldLine {
    pub(crate) fn new(say: Say) -> Self {
        Self {
            say,
            lines: Arc::default(),
        }
    }

    /// Takes the line of an interval, and what is to be said right after it, if anything.
    pub(crate) fn hold(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line);
    }

    /// Says the oldest line held, whose model is saved now.
    pub(crate) fn say_oldest(&self) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = lines.pop_front() {
            block.lines().for_each(|line| (self.say)(line));
        }
    }

    /// Says what is held at the end of a run.
    pub(crate) fn say_all(&self) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for block in lines.drain(..) {
            block.lines().for_each(|line| (self.say)(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_waits_and_none_is_lost() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let held = HeldLine::new(Arc::new(move |line: &str| {
            kept.lock()
                .expect("nobody panics with it")
                .push(line.to_owned());
        }));
        held.hold("one".to_owned());
        held.hold("two".to_owned());
        held.say_oldest();
        assert_eq!(*said.lock().expect("nobody panics with it"), ["one"]);
        held.say_all();
        assert_eq!(*said.lock().expect("nobody panics with it"), ["one", "two"]);
    }
}
