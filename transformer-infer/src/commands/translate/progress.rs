//! How far a translation is, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long a number stands at least.
const INTERVAL: Duration = Duration::from_millis(200);

/// Shows the number of lines translated on the last line of a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    shown: Option<Instant>,
    n_done: usize,
    is_on: bool,
}

impl Progress {
    /// Shows progress if standard error is a terminal, and standard input is not: whoever types lines
    /// sees what becomes of them.
    pub(super) fn new(wanted: bool) -> Self {
        Self {
            start: Instant::now(),
            shown: None,
            n_done: 0,
            is_on: wanted && io::stderr().is_terminal() && !io::stdin().is_terminal(),
        }
    }

    /// Counts lines that are translated.
    pub(super) fn add(&mut self, n_lines: usize) {
        self.n_done += n_lines;
        let is_new = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if self.is_on && is_new && n_lines > 0 {
            let seconds = self.start.elapsed().as_secs_f64();
            let rate = self.n_done as f64 / seconds;
            let lines = format!(
                "{} lines in {seconds:.0} s, {rate:.0} a second",
                self.n_done
            );
            // Nothing is lost where it cannot be shown.
            let _ = write!(io::stderr(), "\r\x1b[K{lines}");
            self.shown = Some(Instant::now());
        }
    }

    /// Clears the line for what comes next.
    pub(super) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
