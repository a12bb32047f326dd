//! The progress of a command, shown on standard error if that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Returns to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// One line of progress, which is overwritten, and cleared on drop.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Total number of lines; `None` if it is not known in advance.
    n_lines: Option<usize>,
    started: Instant,
    is_shown: bool,
}

impl Progress {
    /// Starts the clock; shows progress if `is_enabled` and standard error is a terminal.
    pub(crate) fn new(n_lines: Option<usize>, is_enabled: bool) -> Self {
        Self {
            n_lines,
            started: Instant::now(),
            is_shown: is_enabled && io::stderr().is_terminal(),
        }
    }

    /// Shows the number of lines done, and the time left.
    pub(crate) fn show(&self, n_done: usize) {
        if self.is_shown {
            let line = line(n_done, self.n_lines, self.started.elapsed());
            let _ = write!(io::stderr(), "{CLEAR_LINE}{line}");
        }
    }

    /// Returns the time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
        }
    }
}

fn line(n_done: usize, n_lines: Option<usize>, elapsed: Duration) -> String {
    let per_second = n_done as f64 / elapsed.as_secs_f64();
    let Some(n_lines) = n_lines else {
        return format!("{n_done} lines, {per_second:.0} per second");
    };
    let left = (n_lines - n_done.min(n_lines)) as f64 / per_second;
    let percent = 100 * n_done / n_lines.max(1);
    format!("{n_done}/{n_lines} lines ({percent}%), {per_second:.0} per second, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_proportional_to_the_lines_left() {
        let line = line(30, Some(120), Duration::from_secs(10));
        assert_eq!(line, "30/120 lines (25%), 3 per second, 30 s left");
    }
}
