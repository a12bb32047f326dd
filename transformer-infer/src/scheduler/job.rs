//! [`Job`]: lines to translate for one caller; and [`JobState`], which its lines share.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::search::Search;
use crate::translator::{Translation, TranslatorError};

/// Lines to translate for one caller.
#[derive(Clone, Debug)]
pub struct Job {
    /// Who asks. Different callers get equal shares of the time, whatever the number of their lines.
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
    /// The text that the translation must begin with; blank for no such condition.
    pub prefix: String,
    /// The terms that the translation must contain; see [`Input::terms`](crate::Input::terms).
    pub terms: Vec<String>,
    /// Index of the line in the whole input, from 0; samples depend on it.
    pub index: u64,
}

/// What is called with the index and the result of each line.
pub(super) type OnDone = Box<dyn FnMut(usize, Result<Translation, TranslatorError>) + Send>;

/// What the lines of a job have in common. Its callback is dropped with the last line, whatever becomes of it.
pub(super) struct JobState {
    pub(super) caller: u64,
    pub(super) search: Search,
    /// The settings that lines of a batch must share: all but the number of hypotheses.
    pub(super) shared_search: Search,
    pub(super) progress: Arc<Progress>,
    /// Empty when all lines are done, or the job is cancelled.
    on_done: Mutex<Option<OnDone>>,
}

/// What the ticket of a job shares with its lines.
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

    /// Returns whether each line is done.
    pub(super) fn is_done(&self) -> bool {
        self.n_left.load(Ordering::Relaxed) == 0
    }
}

impl JobState {
    pub(super) fn new(caller: u64, search: Search, n_lines: usize, on_done: OnDone) -> Self {
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
            on_done: Mutex::new(Some(on_done)),
        }
    }

    /// Calls the callback, unless the job is cancelled. A callback that panics cancels its job.
    pub(super) fn deliver(&self, index: usize, result: Result<Translation, TranslatorError>) {
        let mut slot = self.on_done.lock().unwrap_or_else(PoisonError::into_inner);
        if self.progress.is_cancelled() {
            let on_done = slot.take();
            drop(slot);
            drop(on_done);
            return;
        }
        if let Some(on_done) = slot.as_mut() {
            let call = AssertUnwindSafe(|| on_done(index, result));
            if catch_unwind(call).is_err() {
                self.progress.cancel();
            }
        }
        let is_last = self.progress.n_left.fetch_sub(1, Ordering::Relaxed) == 1;
        let ended = (is_last || self.progress.is_cancelled())
            .then(|| slot.take())
            .flatten();
        drop(slot);
        drop(ended);
    }
}

impl fmt::Debug for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobState")
            .field("caller", &self.caller)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
