//! [`Shared`] and the threads: each runs its own batch, and takes new lines between its steps.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use transformer_search::{Hypothesis, Search};

use super::batch::{Batch, RunningBatch, WholeBatch, catching};
use super::group::{BatchModel, Ended, Grown, Line, PackedModels, Workspaces};
use super::job::{JobEvent, Progress};
use super::state::{Load, SchedulerTotals, State};
use crate::TranslatorError;
use crate::batch::in_pool;
use crate::translator::Translator;

/// The state that the threads of a scheduler share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) translator: Arc<Translator>,
    pub(super) n_threads: usize,
    state: Mutex<State>,
    work: Condvar,
    totals: Mutex<SchedulerTotals>,
    /// The threads that the scheduler waits for when it ends: its own, and those of pools that compute its steps.
    workers: Mutex<Vec<ThreadId>>,
}

/// The calling thread as one of [`Shared::workers`], until dropped.
struct Worker<'s>(&'s Shared);

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let this = thread::current().id();
        let mut workers = self.0.workers();
        // Removed only once, because a thread may occur twice.
        if let Some(index) = workers.iter().position(|worker| *worker == this) {
            workers.swap_remove(index);
        }
    }
}

enum Next {
    Lines(Vec<Line>),
    End,
}

impl Shared {
    pub(super) fn new(translator: Arc<Translator>, n_threads: usize, state: State) -> Self {
        Self {
            translator,
            n_threads,
            state: Mutex::new(state),
            work: Condvar::new(),
            totals: Mutex::default(),
            workers: Mutex::default(),
        }
    }

    /// Locks the state. A poisoned lock is taken: nothing that may panic runs under it.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake_one(&self) {
        self.work.notify_one();
    }

    pub(super) fn wake_all(&self) {
        self.work.notify_all();
    }

    /// Removes the lines of a caller's job from the queue.
    pub(super) fn remove(&self, caller: u64, job: &Arc<Progress>) {
        let mut state = self.lock();
        let removed = state.queue.remove(caller, job);
        if state.is_closed && state.queue.is_empty() {
            self.wake_all();
        }
        // Dropping a line may run the caller's code, so the lock is released first.
        drop(state);
        drop(removed);
    }

    fn workers(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> Worker<'_> {
        self.workers().push(thread::current().id());
        Worker(self)
    }

    /// Returns whether the calling thread works for the scheduler, and so cannot wait for its threads: it runs or drops
    /// a callback.
    pub(super) fn is_worker(&self) -> bool {
        self.workers().contains(&thread::current().id())
    }

    pub(super) fn totals(&self) -> SchedulerTotals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_totals(&self, done: &SchedulerTotals) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.add(done);
    }

    /// Takes the lines that a thread translates next, and records how long their jobs waited.
    fn take(&self, state: &mut State, thread: usize, load: Load) -> Vec<Line> {
        let lines = state.take(thread, load);
        for waited in lines.iter().filter_map(|line| line.job.begin()) {
            self.add_totals(&SchedulerTotals::of_wait(waited));
        }
        lines
    }

    fn next(&self, thread: usize) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_cancelled {
                return Next::End;
            }
            let lines = self.take(&mut state, thread, Load::default());
            if !lines.is_empty() {
                self.wake_for_rest(&state);
                return Next::Lines(lines);
            }
            if state.is_closed && state.queue.is_empty() {
                return Next::End;
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes other threads for the remaining lines of the queue, or to end.
    fn wake_for_rest(&self, state: &State) {
        if !state.queue.is_empty() {
            self.wake_one();
        } else if state.is_closed {
            self.wake_all();
        }
    }

    fn deliver(&self, ended: Ended) {
        let Ended { line, result } = ended;
        let (index, search) = (line.index, &line.job.search);
        let terms: Vec<&str> = line.terms.iter().map(String::as_str).collect();
        let translate = |hypotheses: Vec<Hypothesis>| {
            let (n_tokens, required) = (line.n_src_tokens, (terms.as_slice(), line.direction));
            let translator = &self.translator;
            let translation =
                catching(|| translator.translation(index, n_tokens, hypotheses, required, search));
            translation.unwrap_or_else(|message| {
                let line = index + 1;
                Err(TranslatorError::Panic { line, message })
            })
        };
        let result = result.and_then(translate);
        let mut done = SchedulerTotals::default();
        match &result {
            Ok(translation) => {
                let best = translation.candidates.first();
                let n_tokens = best.map_or(0, |best| best.hypothesis.token_log_probs.len());
                done.n_translated = 1;
                done.n_src_tokens = line.n_tokens() as u64;
                done.n_tgt_tokens = n_tokens as u64;
            }
            Err(_) => done.n_failed = 1,
        }
        self.add_totals(&done);
        line.job.deliver(index, result);
    }

    fn report(&self, grown: &Grown) {
        let tokenizer = self.translator.tokenizers().tgt();
        // If this panics, so does decoding the whole translation, which reports it.
        if let Ok(text) = catching(|| tokenizer.decode(&grown.ids)) {
            let event = JobEvent::Growing {
                line: grown.index,
                n_tokens: grown.ids.len(),
                text,
            };
            grown.job.call(event);
        }
    }
}

pub(super) fn work(shared: &Shared, thread: usize) {
    let _worker = shared.enter();
    let models = shared.translator.packed_models();
    let new_model = |search: &Search| -> Box<dyn BatchModel + '_> {
        Box::new(PackedModels::new(
            models.as_deref().unwrap_or_default(),
            search,
        ))
    };
    let mut batch: Box<dyn Batch + '_> = match &models {
        Some(_) => Box::new(RunningBatch::new(&new_model)),
        None => Box::new(WholeBatch::new(&shared.translator)),
    };
    while let Next::Lines(mut lines) = shared.next(thread) {
        while !(lines.is_empty() && batch.is_empty()) {
            let is_alone = shared.lock().is_alone(thread);
            // While all other threads are idle, this one computes with all.
            let n_threads = if is_alone { shared.n_threads } else { 1 };
            let new = mem::take(&mut lines);
            let mut rest = None;
            in_pool(n_threads, || {
                rest = steps(shared, thread, &mut *batch, new, is_alone);
            });
            match rest {
                Some(rest) => lines = rest,
                None => return,
            }
        }
    }
}

/// Adds lines, and takes steps until the batch is empty, or until other threads begin or end: then it returns the lines
/// that are still to be added. Returns `None` if the scheduler is cancelled.
fn steps(
    shared: &Shared,
    thread: usize,
    batch: &mut dyn Batch,
    mut lines: Vec<Line>,
    is_alone: bool,
) -> Option<Vec<Line>> {
    // A pool runs this on another thread.
    let _worker = shared.enter();
    let mut workspaces = Workspaces::new();
    loop {
        add(shared, batch, lines, &mut workspaces);
        let begin = Instant::now();
        let n_rows = batch.n_rows();
        let ended = batch.step(&mut workspaces);
        shared.add_totals(&SchedulerTotals::of_step(n_rows, begin.elapsed()));
        for ended in ended {
            shared.deliver(ended);
        }
        for grown in batch.grown() {
            shared.report(&grown);
        }
        let mut state = shared.lock();
        if state.is_cancelled {
            return None;
        }
        lines = shared.take(&mut state, thread, batch.load());
        let is_still_alone = state.is_alone(thread);
        if !lines.is_empty() {
            shared.wake_for_rest(&state);
        }
        drop(state);
        if lines.is_empty() && batch.is_empty() || is_still_alone != is_alone {
            return Some(lines);
        }
    }
}

fn add(shared: &Shared, batch: &mut dyn Batch, lines: Vec<Line>, workspaces: &mut Workspaces) {
    if lines.is_empty() {
        return;
    }
    let begin = Instant::now();
    batch.add(lines, workspaces);
    let done = SchedulerTotals {
        encoding: begin.elapsed(),
        ..SchedulerTotals::default()
    };
    shared.add_totals(&done);
}
