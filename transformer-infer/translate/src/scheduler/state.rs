//! [`State`]: the waiting lines, the load of each thread, and the lines that a thread takes next; [`SchedulerOptions`]; and
//! [`SchedulerStats`]: the numbers of running and waiting lines, and the totals so far.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::group::Line;
use super::job::CallerLines;
use super::queue::FairQueue;
use crate::batch::FEWEST_ROWS;

/// A batch is refilled when `1/REFILL` of its rows are free: encoding sentences together costs less.
const REFILL: usize = 8;

/// The part of a batch's tokens by which [light](Line::is_light) lines may exceed them.
const LIGHT_PART: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) n_lines: usize,
    /// Maximum number of rows that its lines need.
    pub(super) n_rows: usize,
    /// Number of tokens of the longest row: source and translation so far.
    pub(super) longest: usize,
    /// The rows of light lines among them.
    pub(super) n_light_rows: usize,
}

impl Load {
    /// Returns the number of its tokens with one more line: rows times the longest of them.
    fn n_tokens_with(&self, line: &Line) -> usize {
        let n_rows = self.n_rows.saturating_add(line.n_rows());
        n_rows.saturating_mul(self.longest.max(line.n_tokens()))
    }

    fn add(&mut self, line: &Line) {
        self.n_lines += 1;
        self.n_rows += line.n_rows();
        self.longest = self.longest.max(line.n_tokens());
        if line.is_light {
            self.n_light_rows += line.n_rows();
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    pub(super) n_rows: usize,
    /// Maximum number of tokens: rows times the longest of them.
    pub(super) n_tokens: usize,
    /// Number of rows of light lines that need no room beside those of others.
    pub(super) n_light_rows: usize,
}

impl Capacity {
    /// Returns the number of rows of a load that take room.
    fn n_rows_of(&self, load: Load) -> usize {
        load.n_rows - load.n_light_rows.min(self.n_light_rows)
    }
}

/// The waiting lines and the loads. All threads share this, under a mutex that is held only briefly.
#[derive(Debug)]
pub(super) struct State {
    pub(super) queue: FairQueue,
    loads: Vec<Load>,
    /// The counts of the callers with jobs.
    callers: HashMap<u64, Weak<CallerLines>>,
    capacity: Capacity,
    /// True if new jobs are refused.
    pub(super) is_closed: bool,
    /// True if nothing is translated any more.
    pub(super) is_cancelled: bool,
}

impl State {
    pub(super) fn new(n_threads: usize, capacity: Capacity) -> Self {
        Self {
            queue: FairQueue::default(),
            loads: vec![Load::default(); n_threads],
            callers: HashMap::new(),
            capacity,
            is_closed: false,
            is_cancelled: false,
        }
    }

    /// Sets the number of threads: the first of those that this was made for.
    pub(super) fn set_threads(&mut self, n_threads: usize) {
        self.loads.truncate(n_threads);
    }

    /// Returns the count of a caller's lines, which all its jobs share.
    pub(super) fn lines_of(&mut self, caller: u64) -> Arc<CallerLines> {
        if let Some(lines) = self.callers.get(&caller).and_then(Weak::upgrade) {
            return lines;
        }
        if self.callers.len() == self.callers.capacity() {
            self.callers.retain(|_, lines| lines.strong_count() > 0);
        }
        let lines = Arc::default();
        self.callers.insert(caller, Arc::downgrade(&lines));
        lines
    }

    /// Takes the lines that a thread translates next, besides those that it runs already.
    ///
    /// Few rows go to one thread; more are shared evenly, until each thread has as many as a batch may have. A thread
    /// with a nearly full batch waits for more room. Light lines need none.
    pub(super) fn take(&mut self, thread: usize, load: Load) -> Vec<Line> {
        self.loads[thread] = load;
        let mut taken = Vec::new();
        while load.n_rows > load.n_light_rows
            && let Some(line) = self.take_light(self.loads[thread])
        {
            self.loads[thread].add(&line);
            taken.push(line);
        }
        let load = self.loads[thread];
        let n_rows =
            self.queue.sums.n_rows + self.loads.iter().map(|load| load.n_rows).sum::<usize>();
        let n_threads = (n_rows / FEWEST_ROWS).clamp(1, self.loads.len());
        let n_active = self.loads.iter().filter(|load| load.n_rows > 0).count();
        if load.n_rows == 0 && n_active >= n_threads {
            return taken;
        }
        let share = n_rows.div_ceil(n_threads);
        let share = share.clamp(FEWEST_ROWS.min(self.capacity.n_rows), self.capacity.n_rows);
        let room = share.saturating_sub(self.capacity.n_rows_of(load));
        if load.n_rows > 0 && room < self.queue.sums.n_rows.min(share / REFILL) {
            return taken;
        }
        while let Some(line) = self.take_one(self.loads[thread], share) {
            self.loads[thread].add(&line);
            taken.push(line);
        }
        taken
    }

    /// Takes a light line, if there are few of them beside the others.
    fn take_light(&mut self, load: Load) -> Option<Line> {
        let capacity = self.capacity;
        let most = capacity
            .n_tokens
            .saturating_add(capacity.n_tokens / LIGHT_PART);
        self.queue.pop_light_if(|line| {
            let n_light_rows = load.n_light_rows.saturating_add(line.n_rows());
            n_light_rows <= capacity.n_light_rows && load.n_tokens_with(line) <= most
        })
    }

    fn take_one(&mut self, load: Load, share: usize) -> Option<Line> {
        let capacity = self.capacity;
        let n_rows = capacity.n_rows_of(load);
        self.queue.pop_if(|line| {
            let fits = n_rows.saturating_add(line.n_rows()) <= capacity.n_rows
                && load.n_tokens_with(line) <= capacity.n_tokens;
            load.n_rows == 0 || line.n_rows() == 0 || n_rows < share && fits
        })
    }

    pub(super) fn is_alone(&self, thread: usize) -> bool {
        let mut others = self.loads.iter().enumerate();
        others.all(|(other, load)| other == thread || load.n_rows == 0)
    }

    pub(super) fn n_running(&self) -> (usize, usize) {
        let sum = |of: fn(&Load) -> usize| self.loads.iter().map(of).sum();
        (sum(|load| load.n_lines), sum(|load| load.n_rows))
    }
}

/// The number of threads, and the limits of running and waiting tokens. No translation depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Number of threads that translate. Default: as many as the translator was opened with, which is one per core. On
    /// a device other than a CPU there is always one.
    pub n_threads: Option<NonZeroUsize>,
    /// Maximum number of tokens that one thread translates at once, which bounds its memory: the rows of its batch
    /// times the longest of them, source with EOS and translation so far. Default 8192. A single line may exceed it, and
    /// a few rows of callers with few lines may take an eighth more.
    pub batch_tokens: usize,
    /// Maximum number of waiting source tokens, including an EOS for each line. Default 1,000,000.
    pub max_queue_tokens: usize,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            n_threads: None,
            batch_tokens: 8192,
            max_queue_tokens: 1_000_000,
        }
    }
}

/// Upper bounds of the counters of [`SchedulerTotals::steps_by_rows`]: each counts the steps with at most that many
/// rows, and more than the previous bound; one more counter has the steps with more rows.
pub const ROW_BORDERS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Upper bounds, in seconds, of the counters of [`SchedulerTotals::jobs_by_wait`], as those of [`ROW_BORDERS`].
pub const WAIT_BORDERS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];

/// The current state of a scheduler, and its totals so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct SchedulerStats {
    /// Number of waiting lines.
    pub n_queued_lines: usize,
    /// Number of their source tokens, EOS included.
    pub n_queued_tokens: usize,
    /// Number of lines that are being translated.
    pub n_running_lines: usize,
    /// Maximum number of rows that these need: one for each hypothesis of a beam, or for each sample.
    pub n_running_rows: usize,
    /// The totals since the scheduler was created.
    pub totals: SchedulerTotals,
}

/// The totals of a scheduler since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct SchedulerTotals {
    /// Number of lines translated.
    pub n_translated: u64,
    /// Number of lines that ended with an error.
    pub n_failed: u64,
    /// Number of source tokens of the lines translated, EOS included.
    pub n_src_tokens: u64,
    /// Number of tokens of their best translations, EOS included.
    pub n_tgt_tokens: u64,
    /// Number of decoding steps of all threads.
    pub n_steps: u64,
    /// Number of rows of all steps: divided by the steps, the mean size of a batch.
    pub n_row_steps: u64,
    /// Number of steps by the number of their rows: a histogram with the borders [`ROW_BORDERS`].
    pub steps_by_rows: [u64; ROW_BORDERS.len() + 1],
    /// Number of jobs that have begun, by the time until a thread took their first line: a histogram with the borders
    /// [`WAIT_BORDERS`].
    pub jobs_by_wait: [u64; WAIT_BORDERS.len() + 1],
    /// Sum of these times.
    pub waited: Duration,
    /// Total time that all threads spent encoding.
    pub encoding: Duration,
    /// Total time that all threads spent decoding.
    pub decoding: Duration,
}

impl SchedulerTotals {
    pub(super) fn of_step(n_rows: usize, decoding: Duration) -> Self {
        let n_row_steps = n_rows as u64;
        let mut steps_by_rows = [0; ROW_BORDERS.len() + 1];
        steps_by_rows[ROW_BORDERS.partition_point(|border| *border < n_row_steps)] = 1;
        Self {
            n_steps: 1,
            n_row_steps,
            steps_by_rows,
            decoding,
            ..Self::default()
        }
    }

    pub(super) fn of_wait(waited: Duration) -> Self {
        let seconds = waited.as_secs_f64();
        let mut jobs_by_wait = [0; WAIT_BORDERS.len() + 1];
        jobs_by_wait[WAIT_BORDERS.partition_point(|border| *border < seconds)] = 1;
        Self {
            jobs_by_wait,
            waited,
            ..Self::default()
        }
    }

    /// Adds the totals of a further period, or of another scheduler.
    pub fn add(&mut self, other: &Self) {
        self.n_translated += other.n_translated;
        self.n_failed += other.n_failed;
        self.n_src_tokens += other.n_src_tokens;
        self.n_tgt_tokens += other.n_tgt_tokens;
        self.n_steps += other.n_steps;
        self.n_row_steps += other.n_row_steps;
        for (sum, n) in self.steps_by_rows.iter_mut().zip(other.steps_by_rows) {
            *sum += n;
        }
        for (sum, n) in self.jobs_by_wait.iter_mut().zip(other.jobs_by_wait) {
            *sum += n;
        }
        self.waited += other.waited;
        self.encoding += other.encoding;
        self.decoding += other.decoding;
    }
}
