//! [`Ticket`]: the right to the results of a job.

use std::sync::{Arc, Weak};

use super::job::{JobState, Progress};
use super::worker::Shared;

/// The right to the results of a job. Dropping it cancels unfinished lines: waiting lines leave the queue at once, and
/// running ones leave their batch before its next step.
///
/// The callback of the job is not called for them, and is dropped with the last of them. It may be running on another
/// thread while the ticket is dropped.
#[derive(Debug)]
#[must_use = "dropping a ticket cancels its job"]
#[doc(hidden)]
pub struct Ticket {
    caller: u64,
    /// Not the job itself, because that owns the callback.
    job: Arc<Progress>,
    scheduler: Weak<Shared>,
}

impl Ticket {
    pub(super) fn new(job: &JobState, scheduler: Weak<Shared>) -> Self {
        Self {
            caller: job.caller,
            job: Arc::clone(&job.progress),
            scheduler,
        }
    }

    /// Returns whether each line of the job is done.
    pub fn is_done(&self) -> bool {
        self.job.is_done()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.job.is_done() {
            return;
        }
        self.job.cancel();
        if let Some(scheduler) = self.scheduler.upgrade() {
            scheduler.remove(self.caller, &self.job);
        }
    }
}
