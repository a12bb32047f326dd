//! Lines without text, and a model of random probabilities that panics on a token.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use crate::scheduler::batch::{Batch, RunningBatch};
use crate::scheduler::group::{BatchModel, Ended, Line, Workspaces};
use crate::scheduler::job::{Callback, JobState, for_results};
use transformer_core::text::Direction;
use transformer_search::{Found, Hypothesis, NextToken, Request, RunningSearch, Search};

#[path = "../../../../search/src/tests/table.rs"]
#[expect(dead_code, reason = "only the tests of searches use the rest")]
mod table;

use table::Table;

const VOCAB_SIZE: usize = 9;

/// The model panics when this token is its input.
pub(super) const BAD: u32 = 4;

/// Random probabilities, which depend on the first token of the source; panics on [`BAD`].
pub(super) struct Fragile(Table);

impl Fragile {
    pub(super) fn new() -> Self {
        Self(Table::random(7, &[], VOCAB_SIZE))
    }
}

impl NextToken for Fragile {
    fn n_rows(&self) -> usize {
        self.0.n_rows()
    }

    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        assert!(!last_tokens.contains(&BAD), "a bad token");
        self.0.log_probs(last_tokens)
    }

    fn select(&mut self, rows: &[usize]) {
        self.0.select(rows);
    }
}

impl BatchModel for Fragile {
    fn join(&mut self, sources: &[&[u32]], _: &[bool], _: &mut Workspaces) {
        for source in sources {
            assert!(!source.contains(&BAD), "a bad source");
            self.0.join(u64::from(source[0]));
        }
    }

    fn step(&mut self, search: &mut RunningSearch, _: &mut Workspaces) -> Vec<Found> {
        search.step(self)
    }

    fn n_steps(&self) -> usize {
        0
    }
}

/// Returns a search that never generates [`BAD`].
pub(super) fn search(beam_size: usize) -> Search {
    Search {
        beam_size,
        banned: vec![vec![BAD]],
        ..Search::default()
    }
}

/// Returns a job of one caller that counts its results.
pub(super) fn job(caller: u64, search: Search) -> Arc<JobState> {
    Arc::new(JobState::new(
        caller,
        search,
        usize::MAX,
        for_results(|_, _| ()),
    ))
}

/// Returns a job of one caller that reports each token.
pub(super) fn streamed_job(search: Search) -> Arc<JobState> {
    let mut job = JobState::new(1, search, usize::MAX, Box::new(|_| ()));
    job.is_streamed = true;
    Arc::new(job)
}

/// Returns a callback that owns a value that panics when dropped.
pub(super) fn callback_that_panics_when_dropped() -> Callback {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::panic_any("a panic of the test");
        }
    }

    let value = Panics;
    for_results(move |_, _| {
        let _ = &value;
    })
}

/// Returns a job, and a receiver that ends when its callback is dropped.
pub(super) fn job_with_receiver(search: Search) -> (Arc<JobState>, mpsc::Receiver<usize>) {
    let (sender, receiver) = mpsc::channel();
    let on_done = for_results(move |index, _| {
        let _ = sender.send(index);
    });
    (Arc::new(JobState::new(0, search, 9, on_done)), receiver)
}

/// Returns a line with a source of `len` tokens, the first of which is `first`; its translation has `max_len` tokens at
/// most.
pub(super) fn line(job: &Arc<JobState>, first: u32, len: usize, max_len: usize) -> Line {
    let mut ids = vec![5; len];
    ids[0] = first;
    Line {
        direction: Direction::default(),
        job: Arc::clone(job),
        index: first as usize,
        n_src_tokens: len,
        ids,
        request: Request {
            index: u64::from(first),
            ..Request::up_to(max_len)
        },
        terms: Vec::new(),
        is_again: false,
        n_rows: job.search.n_rows(),
        known: None,
        is_light: false,
        n_reported: 0,
    }
}

/// Returns a line with a translation of exactly `len` tokens.
pub(super) fn line_of_length(job: &Arc<JobState>, first: u32, len: usize) -> Line {
    let line = line(job, first, 3, len);
    let request = Request {
        min_len: len,
        ..line.request.clone()
    };
    Line { request, ..line }
}

/// Returns the hypotheses that a search finds for a line alone.
pub(super) fn alone(line: &Line) -> Vec<Hypothesis> {
    let mut table = Table::random(7, &[u64::from(line.ids[0])], VOCAB_SIZE);
    let requests = [line.request.clone()];
    line.job.search.run(&mut table, &requests).concat()
}

/// Takes steps until the batch is empty.
pub(super) fn finish(batch: &mut RunningBatch<'_>) -> Vec<Ended> {
    let mut ended = Vec::new();
    while !batch.is_empty() {
        ended.extend(batch.step(&mut Workspaces::new()));
    }
    ended
}

/// Calls `test` with a batch of [`Fragile`] models; returns how many models were made.
pub(super) fn with_batch(test: impl FnOnce(&mut RunningBatch<'_>)) -> usize {
    let n_models = AtomicUsize::new(0);
    let new_model = |_: &Search| -> Box<dyn BatchModel> {
        n_models.fetch_add(1, Ordering::Relaxed);
        Box::new(Fragile::new())
    };
    test(&mut RunningBatch::new(&new_model));
    n_models.load(Ordering::Relaxed)
}
