//! [`LineRate`]: the number of translated lines and their rate, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The shortest time between two updates.
const INTERVAL: Duration = Duration::from_millis(200);

/// Shows the number of lines translated, and their rate, on the last line of a terminal.
#[derive(Debug)]
pub(super) struct LineRate {
    start: Instant,
    shown: Option<Instant>,
    n_done: usize,
    is_on: bool,
}

impl LineRate {
    /// Starts the clock. Shows progress if `is_enabled` and standard error is a terminal. If lines are typed, it must not
    /// be enabled: the user sees their translations.
    pub(super) fn new(is_enabled: bool) -> Self {
        Self {
            start: Instant::now(),
            shown: None,
            n_done: 0,
            is_on: is_enabled && io::stderr().is_terminal(),
        }
    }

    /// Adds translated lines, and updates the display.
    pub(super) fn add(&mut self, n_lines: usize) {
        self.n_done += n_lines;
        let is_new = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if self.is_on && is_new && n_lines > 0 {
            let seconds = self.start.elapsed().as_secs_f64();
            let rate = self.n_done as f64 / seconds;
            let lines = format!(
                "{} lines in {seconds:.0} s, {rate:.0} per second",
                self.n_done
            );
            // An error of standard error does not stop the command.
            let _ = write!(io::stderr(), "\r\x1b[K{lines}");
            self.shown = Some(Instant::now());
        }
    }

    /// Clears the line for other output.
    pub(super) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
