//! [`Job`]: lines to translate for one caller; [`JobEvent`] and [`Ticket`]: their events, and the right to them; and
//! [`JobState`], shared by the lines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use transformer_core::text::Direction;
use transformer_search::Search;

use super::worker::Shared;
use crate::TranslatorError;
use crate::translator::Translation;

/// Lines to translate for one caller.
#[derive(Clone, Debug)]
pub struct Job {
    /// The caller. Different callers get equal shares of the time, whatever their numbers of lines.
    pub caller: u64,
    /// The lines.
    pub lines: Vec<JobLine>,
    /// The settings of the search. Jobs with equal settings share batches; [`n_best`](Search::n_best) may differ.
    pub search: Search,
}

/// A line to translate; an [`Input`](crate::Input) that owns its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobLine {
    /// The line.
    pub text: String,
    /// The text that the translation must begin with; blank for none.
    pub prefix: String,
    /// The terms that the translation must contain; see [`Input::terms`](crate::Input::terms).
    pub terms: Vec<String>,
    /// Index of the line in the whole input, from 0; samples depend on it.
    pub index: u64,
    /// The languages; see [`Input::direction`](crate::Input::direction).
    pub direction: Option<Direction>,
    /// True if the line waited before, and its translation was not good enough: it waits before the caller's other lines
    /// then, so that it does not take several times as long as they do.
    pub is_again: bool,
}

pub(super) type Callback = Box<dyn FnMut(JobEvent) + Send>;

pub(super) fn for_results(
    mut on_done: impl FnMut(usize, Result<Translation, TranslatorError>) + Send + 'static,
) -> Callback {
    Box::new(move |event| {
        if let JobEvent::Done { line, result } = event {
            on_done(line, result);
        }
    })
}

/// Maximum number of lines in the unfinished jobs of a caller that has [few](JobState::is_light).
const FEW_LINES: usize = 8;

/// The number of lines in the unfinished jobs of a caller.
pub(super) type CallerLines = AtomicUsize;

/// The lines of a job in the number of its caller's, until dropped.
struct Counted {
    lines: Arc<CallerLines>,
    n_lines: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.lines.fetch_sub(self.n_lines, Ordering::Relaxed);
    }
}

/// The state that the lines of a job share. Its callback is dropped with the last line, however that ends.
pub(super) struct JobState {
    pub(super) caller: u64,
    pub(super) search: Search,
    /// The settings that lines of a batch must share: all except the number of hypotheses.
    pub(super) shared_search: Search,
    pub(super) progress: Arc<Progress>,
    pub(super) is_streamed: bool,
    /// True if its tokens count towards the limit of waiting tokens.
    pub(super) is_limited: bool,
    counted: Option<Counted>,
    submitted: Instant,
    has_begun: AtomicBool,
    /// Empty when all lines are done, or the job is cancelled.
    callback: Mutex<Option<Callback>>,
}

/// The state that the ticket of a job shares with its lines.
#[derive(Debug)]
pub(super) struct Progress {
    is_cancelled: AtomicBool,
    n_left: AtomicUsize,
}

impl Progress {
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_done(&self) -> bool {
        self.n_left.load(Ordering::Relaxed) == 0
    }
}

impl JobState {
    pub(super) fn new(caller: u64, search: Search, n_lines: usize, callback: Callback) -> Self {
        let shared_search = Search {
            n_best: 1,
            ..search.clone()
        };
        Self {
            caller,
            search,
            shared_search,
            progress: Arc::new(Progress {
                is_cancelled: AtomicBool::new(false),
                n_left: AtomicUsize::new(n_lines),
            }),
            is_streamed: false,
            is_limited: true,
            counted: None,
            submitted: Instant::now(),
            has_begun: AtomicBool::new(false),
            callback: Mutex::new(Some(callback)),
        }
    }

    /// Counts the lines of a new job among those of its caller.
    pub(super) fn count(&mut self, n_lines: usize, lines: Arc<CallerLines>) {
        lines.fetch_add(n_lines, Ordering::Relaxed);
        self.counted = Some(Counted { lines, n_lines });
    }

    /// Returns whether its caller has few lines, which need not share steps with the many of others.
    pub(super) fn is_light(&self) -> bool {
        let counted = self.counted.as_ref();
        counted.is_some_and(|it| it.lines.load(Ordering::Relaxed) <= FEW_LINES)
    }

    /// Returns the time that the job waited, when its first line is taken; `None` for its other lines.
    pub(super) fn begin(&self) -> Option<Duration> {
        let is_first = !self.has_begun.swap(true, Ordering::Relaxed);
        is_first.then(|| self.submitted.elapsed())
    }

    /// Calls the callback with a result, unless the job is cancelled. A callback that panics cancels its job.
    pub(super) fn deliver(&self, line: usize, result: Result<Translation, TranslatorError>) {
        self.call(JobEvent::Done { line, result });
    }

    /// Calls the callback with an event, unless the job is cancelled. Returns normally even if the callback panics, or
    /// dropping what it owns does.
    pub(super) fn call(&self, event: JobEvent) {
        let is_result = matches!(event, JobEvent::Done { .. });
        let mut slot = self.callback.lock().unwrap_or_else(PoisonError::into_inner);
        if self.progress.is_cancelled() {
            let callback = slot.take();
            drop(slot);
            drop_callback(callback);
            return;
        }
        if let Some(callback) = slot.as_mut()
            && catches(|| callback(event))
        {
            self.progress.cancel();
        }
        let is_last = is_result && self.progress.n_left.fetch_sub(1, Ordering::Relaxed) == 1;
        let ended = (is_last || self.progress.is_cancelled())
            .then(|| slot.take())
            .flatten();
        drop(slot);
        drop_callback(ended);
    }
}

impl Drop for JobState {
    /// Drops the callback of a job with lines that left without a result, on the thread of the last one.
    fn drop(&mut self) {
        let slot = self.callback.get_mut();
        drop_callback(slot.unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Drops a callback. A panic of what it owns ends here.
fn drop_callback(callback: Option<Callback>) {
    // The job has ended, so there is nothing to cancel.
    let _ = catches(|| drop(callback));
}

/// Runs code of a caller, and returns whether it panicked.
fn catches(call: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        return false;
    };
    // The panic's payload belongs to the caller, too, and may panic when it is dropped.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(panic);
    }
    true
}

impl fmt::Debug for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobState")
            .field("caller", &self.caller)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// An event of a line of a job that is [streamed](super::Scheduler::submit_streaming).
#[derive(Debug)]
#[non_exhaustive]
pub enum JobEvent {
    /// The translation of a line has more tokens: one more, or several in a [`JobStream`](super::JobStream) that is
    /// read more slowly. The number of tokens of a line only grows.
    ///
    /// Reported for greedy search, and for sampling with [`n_best`](transformer_search::Search::n_best) 1: with a beam,
    /// no token is certain before its end. Lines with terms, and models that are not on a CPU, report only their ends.
    Growing {
        /// Index of the line in the job.
        line: usize,
        /// Number of tokens so far.
        n_tokens: usize,
        /// The text of these tokens. The next text begins with it, unless a character consists of several tokens.
        text: String,
    },
    /// A line is done; it has no further events.
    Done {
        /// Index of the line in the job.
        line: usize,
        /// Its translation, or the error.
        result: Result<Translation, TranslatorError>,
    },
}

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
