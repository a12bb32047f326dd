//! How far a run has come before its first update, and whether it is to end there.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Interrupt;

/// Takes one line of text for the user; a program prints it, a test keeps it.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Takes a line that the next one overwrites, and that an empty one wipes away; a program shows it where
/// somebody looks.
pub type Show = Arc<dyn Fn(&str) + Send + Sync>;

/// Time between two lines where nothing is overwritten.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two lines of which one overwrites the other.
const REFRESH: Duration = Duration::from_millis(200);

/// Tells the user what happens before the first update, and hears when to end.
#[derive(Clone)]
pub(crate) struct Watch {
    say: Say,
    show: Option<Show>,
    interrupt: Interrupt,
}

impl Watch {
    /// Without `show`, the user gets a line every ten seconds.
    pub(crate) fn new(say: &Say, show: Option<&Show>, interrupt: &Interrupt) -> Self {
        Self {
            say: Arc::clone(say),
            show: show.cloned(),
            interrupt: interrupt.clone(),
        }
    }

    /// Returns what takes lines for the user.
    pub(crate) fn say(&self) -> &Say {
        &self.say
    }

    /// Begins something that takes long.
    pub(crate) fn begin(&self, what: &'static str) -> Progress {
        let now = Instant::now();
        Progress {
            watch: self.clone(),
            what,
            started: now,
            told: now,
            is_shown: false,
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// Follows one thing that takes long. What is shown of it is wiped away when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    watch: Watch,
    what: &'static str,
    started: Instant,
    told: Instant,
    is_shown: bool,
}

impl Progress {
    /// Hears that so many pairs are done, of so many if that is known. Breaks off when the run is to end.
    pub(crate) fn pairs(&mut self, n_done: u64, n_all: Option<u64>) -> ControlFlow<()> {
        let elapsed = self.started.elapsed();
        self.tell(|| counted(n_done, n_all, elapsed))
    }

    /// Hears what share is done, from 0 to 1.
    pub(crate) fn share(&mut self, share: f64) -> ControlFlow<()> {
        self.tell(|| format!("{:.0}%", 100.0 * share))
    }

    fn tell(&mut self, how_far: impl FnOnce() -> String) -> ControlFlow<()> {
        let Watch {
            say,
            show,
            interrupt,
        } = &self.watch;
        if interrupt.is_requested() {
            return ControlFlow::Break(());
        }
        let pause = if show.is_some() { REFRESH } else { PATIENCE };
        if self.told.elapsed() >= pause {
            self.told = Instant::now();
            let line = format!("{:<11} {}", self.what, how_far());
            match show {
                Some(show) => {
                    show(&line);
                    self.is_shown = true;
                }
                None => say(&line),
            }
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let (true, Some(show)) = (self.is_shown, &self.watch.show) {
            show("");
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
    fn a_request_breaks_off_what_goes_on() {
        let interrupt = Interrupt::default();
        let say: Say = Arc::new(|_| {});
        let mut progress = Watch::new(&say, None, &interrupt).begin("reading");
        assert!(progress.pairs(1, None).is_continue());
        interrupt.request();
        assert!(progress.pairs(2, None).is_break());
    }
}
