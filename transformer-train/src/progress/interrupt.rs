//! Early end of a run, requested by its program.

use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time between two checks of whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Asks a run to end early; clones share the request.
///
/// Before the first update the run ends at once and leaves nothing on disk. Later it ends after the current interval,
/// when its checkpoint is written. A program that exits without waiting for that calls [`kill_child`](Self::kill_child)
/// first.
///
/// # Example
///
/// ```
/// use transformer_train::{Interrupt, Stage};
///
/// let interrupt = Interrupt::default();
/// assert_eq!(interrupt.request(), Some(Stage::Preparing));
/// assert_eq!(interrupt.request(), None); // It was requested before.
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flags>);

// Its lock is released by a panic, and what it holds is valid at any time.
impl UnwindSafe for Interrupt {}
impl RefUnwindSafe for Interrupt {}

#[derive(Debug, Default)]
struct Flags {
    is_requested: AtomicBool,
    is_training: AtomicBool,
    /// The program that the run waits for, if any.
    child: Mutex<Option<Child>>,
}

/// The stage of a run at which an interrupt is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The run reads text or trains tokenizers: nothing is lost.
    Preparing,
    /// The run trains: the updates since the last checkpoint are worth waiting for.
    Training,
}

impl Interrupt {
    /// Asks the run to end. Returns its stage, or `None` if this was already requested.
    pub fn request(&self) -> Option<Stage> {
        if self.0.is_requested.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(match self.0.is_training.load(Ordering::SeqCst) {
            true => Stage::Training,
            false => Stage::Preparing,
        })
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.is_requested.load(Ordering::SeqCst)
    }

    /// Marks the start of the updates: from now on a request waits for the end of the interval.
    pub(crate) fn begin_training(&self) {
        self.0.is_training.store(true, Ordering::SeqCst);
    }

    /// Kills the program that the run waits for, if any, and the programs that it has started.
    pub fn kill_child(&self) {
        if let Some(child) = self.0.child.lock().take() {
            kill(child);
        }
    }

    /// Runs a program to its end. `None` if it was killed, by [`kill_child`](Self::kill_child) or because it ran longer
    /// than `time_limit`.
    ///
    /// Ctrl-C at a terminal reaches only this program, which decides about the other one.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        time_limit: Duration,
    ) -> io::Result<Option<ExitStatus>> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let lock = || self.0.child.lock();
        let started = Instant::now();
        *lock() = Some(command.spawn()?);
        loop {
            let mut child = lock();
            let Some(running) = child.as_mut() else {
                return Ok(None);
            };
            if let Some(status) = running.try_wait()? {
                *child = None;
                return Ok(Some(status));
            }
            drop(child);
            if started.elapsed() >= time_limit {
                self.kill_child();
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn kill(mut child: Child) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(child.id()) {
        let group = nix::unistd::Pid::from_raw(group);
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_returns_the_stage_of_the_run() {
        let interrupt = Interrupt::default();
        interrupt.begin_training();
        assert!(!interrupt.is_requested());
        assert_eq!(interrupt.clone().request(), Some(Stage::Training));
        assert!(interrupt.is_requested());
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_runs_too_long_is_killed_with_those_that_it_started() -> io::Result<()> {
        let (mut output, of_programs) = io::pipe()?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "sleep 1000000 & wait"])
            .stdout(of_programs);
        let ended = Interrupt::default().run(&mut shell, Duration::from_millis(50))?;
        assert!(ended.is_none());
        drop(shell);
        // The pipe ends with the last program that has it.
        io::copy(&mut output, &mut io::sink())?;
        Ok(())
    }
}
