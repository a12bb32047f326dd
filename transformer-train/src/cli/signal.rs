//! Ctrl-C and the terminal: ends a run in an orderly way, or at once.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossterm::cursor::Show as ShowCursor;
use crossterm::event::DisableMouseCapture;
use crossterm::execute;
use crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode, is_raw_mode_enabled};
#[cfg(unix)]
use signal_hook::{consts::SIGUSR1, iterator::Signals};
use transformer_core::text::one_line;
use transformer_train::step::ranks::Ranks;
use transformer_train::{Interrupt, Stage, StatusFn, TrainError};

use super::command::Failure;

pub(crate) const INTERRUPTED: u8 = 130;

/// Time for a run before its first update to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Prints the error that ends the program in one write: `mpirun` interleaves the output of several processes, and a
/// process may be killed between two writes.
pub(crate) fn print_error(who: &str, error: &(dyn Error + 'static)) {
    let line = format!("error: {who}{}\n", one_line(error));
    // If standard error is closed, nothing can be reported.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Returns the status line, if standard error is a terminal.
pub(crate) fn status() -> Option<StatusFn> {
    let status = |line: &str| {
        // Returns to the start of the line, and clears it.
        let _ = write!(io::stderr(), "\r\x1b[2K{line}");
    };
    io::stderr()
        .is_terminal()
        .then(|| Arc::new(status) as StatusFn)
}

/// Ends the run at the first interrupt: at once before its first update, later after the current
/// interval. A second interrupt ends it at once.
///
/// With several processes SIGUSR1 is an interrupt as well: `mpirun` ends a job at Ctrl-C within a second, and
/// passes that signal on to all processes.
pub(crate) fn stop_on_interrupt(ranks: Ranks) -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    let request = interrupt.clone();
    ctrlc::set_handler(move || interrupted(&request, ranks))?;
    #[cfg(unix)]
    if !ranks.is_alone() {
        let mut signals = Signals::new([SIGUSR1])?;
        let request = interrupt.clone();
        let wait = move || signals.forever().for_each(|_| interrupted(&request, ranks));
        thread::Builder::new().spawn(wait)?;
    }
    Ok(interrupt)
}

fn interrupted(request: &Interrupt, ranks: Ranks) {
    match request.request() {
        Some(Stage::Preparing) => {
            // The run checks for interrupts between lines of text, and removes its unfinished files. It cannot while it
            // waits for a line.
            thread::sleep(GRACE);
            if let Some(status) = status() {
                status("");
            }
            print_error("", &TrainError::Interrupted);
            exit_now();
        }
        Some(Stage::Training) if ranks.is_first() => {
            let advice =
                "stopping after this interval, with its model saved; once more to stop at once";
            let _ = match has_dashboard() {
                // Writes to the last line of the terminal, and restores the cursor.
                true => write!(io::stderr(), "\x1b7\x1b[999;1H\x1b[2K{advice}\x1b8"),
                false => writeln!(io::stderr(), "{advice}"),
            };
        }
        Some(Stage::Training) => {}
        None => {
            request.kill_child();
            exit_now();
        }
    }
}

fn has_dashboard() -> bool {
    is_raw_mode_enabled().unwrap_or(false)
}

#[expect(
    clippy::exit,
    reason = "the user asks to end a program that is waiting or computing"
)]
fn exit_now() -> ! {
    if has_dashboard() {
        let _ = disable_raw_mode();
        let _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            LeaveAlternateScreen,
            ShowCursor
        );
    }
    std::process::exit(i32::from(INTERRUPTED))
}
