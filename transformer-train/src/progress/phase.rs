//! Progress of the phases before the first update, and log lines that wait until their model is on disk.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use derive_new::new;
use parking_lot::Mutex;

use crate::progress::Interrupt;

/// Receives one line of the log: a program prints it, a test collects it.
pub type LogFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Receives a status line that replaces the previous one; an empty line clears it.
///
/// Programs pass one if a user is watching a terminal.
pub type StatusFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Time between two log lines if there is no status line.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// Reports the progress before the first update, and checks for an interrupt.
#[derive(Clone)]
pub(crate) struct Progress {
    log: LogFn,
    status: Option<StatusFn>,
    interrupt: Interrupt,
}

impl Progress {
    /// Without `status`, progress is logged every ten seconds.
    pub(crate) fn new(log: &LogFn, status: Option<&StatusFn>, interrupt: &Interrupt) -> Self {
        Self {
            log: Arc::clone(log),
            status: status.cloned(),
            interrupt: interrupt.clone(),
        }
    }

    pub(crate) fn log(&self) -> &LogFn {
        &self.log
    }

    pub(crate) fn begin(&self, name: &'static str) -> Phase {
        let now = Instant::now();
        Phase {
            progress: self.clone(),
            name,
            started: now,
            reported: now,
            has_status: false,
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

/// Reports on one phase; dropping it clears its status line.
#[derive(Debug)]
pub(crate) struct Phase {
    progress: Progress,
    name: &'static str,
    started: Instant,
    reported: Instant,
    has_status: bool,
}

impl Phase {
    /// Reports the number of pairs done, out of `n_all` if known; breaks if the user has interrupted the run.
    pub(crate) fn pairs(&mut self, n_done: u64, n_all: Option<u64>) -> ControlFlow<()> {
        let elapsed = self.started.elapsed();
        self.report(|| counted(n_done, n_all, elapsed))
    }

    /// Reports the share that is done, from 0 to 1; breaks if the user has interrupted the run.
    pub(crate) fn share(&mut self, share: f64) -> ControlFlow<()> {
        self.report(|| format!("{:.0}%", 100.0 * share))
    }

    fn report(&mut self, done: impl FnOnce() -> String) -> ControlFlow<()> {
        if self.progress.interrupt.is_requested() {
            return ControlFlow::Break(());
        }
        let status = &self.progress.status;
        let interval = match status {
            Some(_) => STATUS_INTERVAL,
            None => LOG_INTERVAL,
        };
        if self.reported.elapsed() >= interval {
            self.reported = Instant::now();
            let line = format!("{:<11} {}", self.name, done());
            match status {
                Some(status) => {
                    status(&line);
                    self.has_status = true;
                }
                None => (self.progress.log)(&line),
            }
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        if let (true, Some(status)) = (self.has_status, &self.progress.status) {
            status("");
        }
    }
}

fn counted(n_done: u64, n_all: Option<u64>, elapsed: Duration) -> String {
    let per_second = n_done as f64 / elapsed.as_secs_f64();
    let Some(n_all) = n_all.filter(|&n_all| n_all >= n_done) else {
        return format!("{n_done} pairs, {per_second:.0} a second");
    };
    let percent = 100 * n_done / n_all.max(1);
    let left = (n_all - n_done) as f64 / per_second;
    format!("{n_done}/{n_all} pairs ({percent}%), {per_second:.0} a second, {left:.0} s left")
}

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
    pub(crate) fn push(&self, entry: String) {
        self.entries.lock().push_back(entry);
    }

    pub(crate) fn release_oldest(&self) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.pop_front() {
            entry.lines().for_each(|line| (self.log)(line));
        }
    }

    pub(crate) fn release_all(&self) {
        let mut entries = self.entries.lock();
        let lines = entries.iter().flat_map(|entry| entry.lines());
        lines.for_each(|line| (self.log)(line));
        entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_in_proportion_to_the_pairs_left() {
        let ten = Duration::from_secs(10);
        let line = counted(30, Some(120), ten);
        assert_eq!(line, "30/120 pairs (25%), 3 a second, 30 s left");
        assert_eq!(counted(30, None, ten), "30 pairs, 3 a second");
    }

    #[test]
    fn an_interrupt_breaks_off_a_phase() {
        let interrupt = Interrupt::default();
        let log: LogFn = Arc::new(|_| {});
        let mut phase = Progress::new(&log, None, &interrupt).begin("reading");
        assert!(phase.pairs(1, None).is_continue());
        interrupt.request();
        assert!(phase.pairs(2, None).is_break());
    }
}

#[cfg(test)]
mod deferred_log_tests {
    use super::*;

    #[test]
    fn entries_wait_for_their_model_and_none_is_lost() {
        let logged = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&logged);
        let deferred = DeferredLog::new(Arc::new(move |line: &str| {
            lines.lock().push(line.to_owned());
        }));
        deferred.push("one".to_owned());
        deferred.push("two".to_owned());
        deferred.release_oldest();
        assert_eq!(*logged.lock(), ["one"]);
        deferred.release_all();
        assert_eq!(*logged.lock(), ["one", "two"]);
    }
}
