//! [`Scheduler`]: translates the lines of many callers together.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use transformer_search::{Hypothesis, Search};

use super::group::Line;
use super::job::{Callback, Job, JobLine, JobState, for_results};
use super::state::{Capacity, State};
use super::worker::{Shared, work};
use super::{JobEvent, SchedulerOptions, SchedulerStats, Ticket};
use crate::TranslatorError;
use crate::batch::ROWS_PER_BATCH;
use crate::translator::{Input, PreparedLine, Translation, Translator};

/// Translates the lines of many callers together, on its own threads.
///
/// Each thread has a running batch. Between two steps, new lines enter it, and finished translations leave it at once:
/// no caller waits for the longest sentence of another. A translation equals that of [`Translator::translate_inputs`]
/// for the same lines, bit for bit, whatever else is being translated. A panic during the translation of a line is an
/// error of this line. A single line is computed by all threads.
///
/// Lines of jobs with equal [`Search`]es share a batch; others are decoded in turns with them. On a device other than a
/// CPU, lines cannot enter between steps: those that wait at the same time are translated together.
///
/// Dropping the scheduler cancels unfinished lines.
///
/// # Example
///
/// ```
/// use std::sync::{Arc, mpsc};
///
/// use transformer_core::directory::Tokenizers;
/// use transformer_core::text::{Tokenizer, TokenizerConfig};
/// use transformer_core::{TransformerConfig, device};
/// use transformer_translate::scheduler::{Job, JobLine, Scheduler, SchedulerOptions};
/// use transformer_translate::Translator;
///
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])?;
/// let n = tokenizer.vocab_size();
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(n, n) };
/// let (_, device) = device::choose(None)?;
/// let translator = Translator::new(config.init(&device)?, &config, Tokenizers::Joint(tokenizer))?;
///
/// let scheduler = Scheduler::new(Arc::new(translator), &SchedulerOptions::default())?;
/// let line = JobLine { text: "ein Haus".to_owned(), ..JobLine::default() };
/// let search = scheduler.translator().search().clone();
/// let (sender, results) = mpsc::channel();
/// let job = Job { caller: 1, lines: vec![line], search };
/// let _ticket = scheduler.submit(job, move |_, result| drop(sender.send(result)))?;
/// for translation in results {
///     println!("{}", translation?.text());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scheduler {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    max_queue_tokens: usize,
}

impl Scheduler {
    /// Starts the threads. If the operating system starts only some of them, those do all the work.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::Threads`] if the operating system starts none.
    pub fn new(
        translator: Arc<Translator>,
        options: &SchedulerOptions,
    ) -> Result<Self, TranslatorError> {
        let n_threads = options.n_threads.map(NonZeroUsize::get);
        let n_threads = n_threads.unwrap_or_else(|| translator.n_threads());
        // Once, before the threads ask for it.
        let is_packed = translator.packed_models().is_some();
        let n_workers = if is_packed { n_threads } else { 1 };
        // Only rows of packed models leave and join between steps.
        let (n_rows, n_light_rows) = match is_packed {
            true => (ROWS_PER_BATCH, ROWS_PER_BATCH / 4),
            false => (usize::MAX, 0),
        };
        let capacity = Capacity {
            n_rows,
            n_tokens: options.batch_tokens,
            n_light_rows,
        };
        let state = State::new(n_workers, capacity);
        let shared = Arc::new(Shared::new(translator, n_threads, state));
        let mut threads = Vec::with_capacity(n_workers);
        for index in 0..n_workers {
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name(format!("translation {index}"));
            match thread.spawn(move || work(&shared, index)) {
                Ok(thread) => threads.push(thread),
                Err(error) if threads.is_empty() => return Err(TranslatorError::Threads(error)),
                Err(_) => break,
            }
        }
        shared.lock().set_threads(threads.len());
        Ok(Self {
            shared,
            threads: Mutex::new(threads),
            max_queue_tokens: options.max_queue_tokens,
        })
    }

    /// Accepts lines to translate, and tokenizes them on the calling thread.
    ///
    /// `on_done` is called once for each line, with its index in the job, on a thread of the scheduler, in the order in
    /// which lines end, and is dropped after its last call. If it panics, its job is cancelled. If dropping what it
    /// owns panics, the panic is ignored. Line numbers in errors are those within the job.
    ///
    /// It must not block: the lines of all callers in the thread's batch wait for it, and `shut_down` and dropping the
    /// scheduler never return while it waits. Send to an unbounded channel, or with `try_send`.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the search is not valid, if too many tokens wait already, or after
    /// [`shut_down`](Self::shut_down). Errors of single lines are results.
    pub fn submit(
        &self,
        job: Job,
        on_done: impl FnMut(usize, Result<Translation, TranslatorError>) + Send + 'static,
    ) -> Result<Ticket, TranslatorError> {
        let limit = Some(self.max_queue_tokens);
        self.accept(job, for_results(on_done), limit, false)
    }

    /// Like [`submit`](Self::submit), for a job that the caller has already accepted: the limit of waiting tokens
    /// neither refuses it nor counts it. The caller must bound the number of such jobs.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] as `submit` does, except for lack of room.
    pub fn submit_unlimited(
        &self,
        job: Job,
        on_done: impl FnMut(usize, Result<Translation, TranslatorError>) + Send + 'static,
    ) -> Result<Ticket, TranslatorError> {
        self.accept(job, for_results(on_done), None, false)
    }

    /// Like [`submit`](Self::submit), and also calls `on_event` after each token of a greedy search, not only when a
    /// line is done. [`stream`](Self::stream) returns the events instead.
    ///
    /// Like `on_done`, it must not block. An unbounded channel keeps each unread event with the whole text so far: the
    /// memory grows with the square of the length. `stream` keeps only the newest event of each line.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] as `submit` does.
    pub fn submit_streaming(
        &self,
        job: Job,
        on_event: impl FnMut(JobEvent) + Send + 'static,
    ) -> Result<Ticket, TranslatorError> {
        let limit = Some(self.max_queue_tokens);
        self.accept(job, Box::new(on_event), limit, true)
    }

    /// Returns whether a caller's job of `n_tokens` tokens would be accepted now. A job that is too large for an empty
    /// queue counts as one that fills it.
    pub fn has_room(&self, caller: u64, n_tokens: usize) -> bool {
        let limit = self.max_queue_tokens;
        check_room(
            &self.shared.lock(),
            caller,
            n_tokens.min(limit),
            Some(limit),
        )
        .is_ok()
    }

    /// Accepts a job. Without a `limit`, that of waiting tokens does not count it; if `is_streamed`, each token is an event.
    fn accept(
        &self,
        job: Job,
        callback: Callback,
        limit: Option<usize>,
        is_streamed: bool,
    ) -> Result<Ticket, TranslatorError> {
        // Before the work of tokenizing.
        let caller_lines = {
            let mut state = self.shared.lock();
            check_room(&state, job.caller, job.lines.len(), limit)?;
            state.lines_of(job.caller)
        };
        let Job {
            caller,
            lines,
            search,
        } = job;
        let prepared = self.prepare(&lines, &search)?;
        let mut state = JobState::new(caller, search, lines.len(), callback);
        (state.is_limited, state.is_streamed) = (limit.is_some(), is_streamed);
        state.count(lines.len(), caller_lines);
        let job = Arc::new(state);
        let lines = lines.into_iter().zip(prepared).enumerate();
        let lines = lines.map(|(index, (line, prepared))| self.line(&job, index, line, prepared));
        let lines: Vec<Line> = lines.collect();
        let n_tokens = lines.iter().map(Line::n_tokens).sum();
        let ticket = Ticket::new(&job, Arc::downgrade(&self.shared));
        let mut state = self.shared.lock();
        if let Err(error) = check_room(&state, caller, n_tokens, limit) {
            // Dropping the ticket and the lines takes the lock.
            drop(state);
            return Err(error);
        }
        let (again, others): (Vec<Line>, _) = lines.into_iter().partition(|it| it.is_again);
        for line in others.into_iter().chain(again.into_iter().rev()) {
            state.queue.push(line);
        }
        drop(state);
        self.shared.wake_one();
        Ok(ticket)
    }

    fn prepare(
        &self,
        lines: &[JobLine],
        search: &Search,
    ) -> Result<Vec<Result<PreparedLine, TranslatorError>>, TranslatorError> {
        let terms = lines
            .iter()
            .map(|line| line.terms.iter().map(String::as_str).collect());
        let terms: Vec<Vec<&str>> = terms.collect();
        let inputs = lines.iter().zip(&terms).map(|(line, terms)| Input {
            text: &line.text,
            prefix: &line.prefix,
            terms,
            index: line.index,
            direction: line.direction,
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        self.translator().prepare(&inputs, search)
    }

    fn line(
        &self,
        job: &Arc<JobState>,
        index: usize,
        line: JobLine,
        prepared: Result<PreparedLine, TranslatorError>,
    ) -> Line {
        let (limits, search) = (self.translator().limits(), &job.search);
        let (prepared, error) = match prepared {
            Ok(prepared) => (prepared, None),
            Err(error) => (PreparedLine::default(), Some(error)),
        };
        let request = prepared.source(line.index).request(search, limits);
        let mut ids = prepared.ids;
        let n_src_tokens = ids.len();
        ids.truncate(limits.max_src_len);
        let known = match error {
            Some(error) => Some(Err(error)),
            None => ids.is_empty().then(|| Ok(vec![Hypothesis::empty()])),
        };
        Line {
            job: Arc::clone(job),
            index,
            n_rows: search.n_rows_with(&request.phrases),
            ids,
            request,
            n_src_tokens,
            direction: prepared.direction,
            terms: line.terms,
            is_again: line.is_again,
            known,
            is_light: false,
            n_reported: 0,
        }
    }

    /// Returns the numbers of running and waiting lines, and the totals so far.
    pub fn stats(&self) -> SchedulerStats {
        let state = self.shared.lock();
        let (n_running_lines, n_running_rows) = state.n_running();
        SchedulerStats {
            n_queued_lines: state.queue.sums.n_lines,
            n_queued_tokens: state.queue.sums.n_tokens,
            n_running_lines,
            n_running_rows,
            totals: self.shared.totals(),
        }
    }

    /// Returns the number of waiting tokens that are translated until a caller has all its own and `n_tokens` more:
    /// callers take turns.
    pub fn n_tokens_before(&self, caller: u64, n_tokens: usize) -> usize {
        self.shared.lock().queue.n_tokens_before(caller, n_tokens)
    }

    /// Returns the translator.
    pub fn translator(&self) -> &Arc<Translator> {
        &self.shared.translator
    }

    /// Refuses new jobs, finishes the accepted ones, and ends the threads. It waits for that, unless it is called by a
    /// callback.
    pub fn shut_down(&self) {
        self.shared.lock().is_closed = true;
        self.join();
    }

    /// Waits for the threads, unless it is called by a callback, because they wait for the callback.
    fn join(&self) {
        self.shared.wake_all();
        if self.shared.is_worker() {
            return;
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic on a thread is an error of its line; there is nothing to add here.
            let _ = thread.join();
        }
    }
}

/// Checks that a caller's job of `n_tokens` tokens may join those that wait. A full queue refuses only callers with
/// more than their share of it.
fn check_room(
    state: &State,
    caller: u64,
    n_tokens: usize,
    limit: Option<usize>,
) -> Result<(), TranslatorError> {
    if state.is_closed {
        return Err(TranslatorError::ShutDown);
    }
    let Some(limit) = limit else {
        return Ok(());
    };
    if n_tokens > limit {
        return Err(TranslatorError::JobTooLarge { n_tokens, limit });
    }
    let n_queued_tokens = state.queue.sums.n_limited_tokens;
    if n_queued_tokens.saturating_add(n_tokens) > limit
        && !state.queue.is_within_share(caller, n_tokens, limit)
    {
        return Err(TranslatorError::QueueFull {
            n_queued_tokens,
            n_tokens,
            limit,
        });
    }
    Ok(())
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.is_cancelled = true;
        let lines = state.queue.take_all();
        drop(state);
        drop(lines);
        self.join();
    }
}
