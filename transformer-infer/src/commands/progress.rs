//! Progress and warnings on standard error: [`Progress`] of a command, [`LineRate`] of lines that arrive,
//! [`LineWarnings`] about lines and length limits, and [`tell`] for the rest.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use transformer_infer::search::LengthLimit;
use transformer_infer::{Translator, Warning};

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

    pub(crate) fn show(&self, n_done: usize) {
        if self.is_shown {
            let line = line(n_done, self.n_lines, self.started.elapsed());
            let _ = write!(io::stderr(), "{CLEAR_LINE}{line}");
        }
    }

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

const INTERVAL: Duration = Duration::from_millis(200);

/// Shows the number of lines translated, and their rate, on the last line of a terminal.
#[derive(Debug)]
pub(crate) struct LineRate {
    start: Instant,
    shown: Option<Instant>,
    n_done: usize,
    is_on: bool,
}

impl LineRate {
    /// Starts the clock. Shows progress if `is_enabled` and standard error is a terminal. If lines are typed, it must not
    /// be enabled: the user sees their translations.
    pub(crate) fn new(is_enabled: bool) -> Self {
        Self {
            start: Instant::now(),
            shown: None,
            n_done: 0,
            is_on: is_enabled && io::stderr().is_terminal(),
        }
    }

    pub(crate) fn add(&mut self, n_lines: usize) {
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

    pub(crate) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints a line to standard error. If that is closed, the command goes on.
pub(crate) fn tell(message: impl Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Prints the warnings of translations. Those about length limits are alike for many lines, and printed once.
#[derive(Debug)]
pub(crate) struct LineWarnings {
    is_on: bool,
    has_limits: bool,
}

impl LineWarnings {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            has_limits: false,
        }
    }

    /// Warns if the model has fewer positions than `--max-len` requests.
    pub(crate) fn check_positions(
        &mut self,
        max_len: Option<LengthLimit>,
        translator: &Translator,
    ) {
        let requested = max_len.map_or(0, |max_len| max_len.limit(1));
        let positions = translator.limits().max_tgt_len;
        if let Some(positions) = positions.filter(|positions| self.is_on && requested > *positions)
        {
            tell(format_args!(
                "warning: `max_len` is {requested} or more, but the model has positions for {positions} tokens; \
                 translations end there"
            ));
        }
    }

    pub(crate) fn print(&mut self, line: usize, warning: Option<Warning>) {
        let Some(warning) = warning.filter(|_| self.is_on) else {
            return;
        };
        let is_of_limits = warning.is_of_limits();
        if is_of_limits && self.has_limits {
            return;
        }
        self.has_limits |= is_of_limits;
        let more = if is_of_limits {
            " (further lines like it are not listed)"
        } else {
            ""
        };
        tell(format_args!("warning: line {line}: {warning}{more}"));
    }
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
