//! How far a command is, on standard error, for somebody who waits at a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Begins the line anew, and clears it.
const ANEW: &str = "\r\x1b[2K";

/// Shows one line that is overwritten, and wipes it away when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    n_lines: usize,
    started: Instant,
    is_shown: bool,
}

impl Progress {
    /// Begins to count; shows nothing where nobody looks, or where that is not wanted.
    pub(crate) fn new(n_lines: usize, wanted: bool) -> Self {
        Self {
            n_lines,
            started: Instant::now(),
            is_shown: wanted && io::stderr().is_terminal(),
        }
    }

    /// Shows that so many lines are done.
    pub(crate) fn show(&self, n_done: usize) {
        if self.is_shown {
            let line = line(n_done, self.n_lines, self.started.elapsed());
            let _ = write!(io::stderr(), "{ANEW}{line}");
        }
    }

    /// Returns the time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "{ANEW}");
        }
    }
}

fn line(n_done: usize, n_lines: usize, elapsed: Duration) -> String {
    let per_second = n_done as f64 / elapsed.as_secs_f64();
    let left = (n_lines - n_done.min(n_lines)) as f64 / per_second;
    let percent = 100 * n_done / n_lines.max(1);
    format!("{n_done}/{n_lines} lines ({percent}%), {per_second:.0} a second, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_in_proportion_to_the_lines_left() {
        let line = line(30, 120, Duration::from_secs(10));
        assert_eq!(line, "30/120 lines (25%), 3 a second, 30 s left");
    }
}
