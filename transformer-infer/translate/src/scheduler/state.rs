//! [`State`]: what waits, what each thread runs, and which lines a thread takes next.

use super::line::Line;
use super::queue::FairQueue;
use crate::batch::FEWEST_ROWS;

/// A batch is refilled when this share of its rows is free: sentences that are encoded together cost less.
const REFILL: usize = 8;

/// What a thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) n_lines: usize,
    /// Most rows that its lines need.
    pub(super) n_rows: usize,
    /// Number of tokens of the longest row: source and translation so far.
    pub(super) longest: usize,
}

/// What a thread may run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// Most rows.
    pub(super) n_rows: usize,
    /// Most tokens: rows times the longest of them.
    pub(super) n_tokens: usize,
}

/// What waits and what runs. All threads share it, under a mutex that is held for short only.
#[derive(Debug)]
pub(super) struct State {
    pub(super) queue: FairQueue,
    /// What each thread runs.
    loads: Vec<Load>,
    capacity: Capacity,
    /// Whether new jobs are refused.
    pub(super) is_closed: bool,
    /// Whether nothing is translated any more.
    pub(super) is_cancelled: bool,
}

impl State {
    pub(super) fn new(n_threads: usize, capacity: Capacity) -> Self {
        Self {
            queue: FairQueue::default(),
            loads: vec![Load::default(); n_threads],
            capacity,
            is_closed: false,
            is_cancelled: false,
        }
    }

    /// Sets the number of threads, the first of those it was made for.
    pub(super) fn set_threads(&mut self, n_threads: usize) {
        self.loads.truncate(n_threads);
    }

    /// Takes the lines that a thread translates next, beside those that it runs already.
    ///
    /// Few rows are for one thread; more are shared evenly, until each thread has as many as a batch may have. A thread
    /// whose batch is nearly full waits for more room.
    pub(super) fn take(&mut self, thread: usize, load: Load) -> Vec<Line> {
        self.loads[thread] = load;
        let n_rows = self.queue.n_rows() + self.loads.iter().map(|load| load.n_rows).sum::<usize>();
        let n_threads = (n_rows / FEWEST_ROWS).clamp(1, self.loads.len());
        let n_active = self.loads.iter().filter(|load| load.n_rows > 0).count();
        if load.n_rows == 0 && n_active >= n_threads {
            return Vec::new();
        }
        let share = n_rows.div_ceil(n_threads);
        let share = share.clamp(FEWEST_ROWS.min(self.capacity.n_rows), self.capacity.n_rows);
        let room = share.saturating_sub(load.n_rows);
        if load.n_rows > 0 && room < self.queue.n_rows().min(share / REFILL) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        while let Some(line) = self.take_one(self.loads[thread], share) {
            let load = &mut self.loads[thread];
            load.n_lines += 1;
            load.n_rows += line.n_rows();
            load.longest = load.longest.max(line.n_tokens());
            taken.push(line);
        }
        taken
    }

    fn take_one(&mut self, load: Load, share: usize) -> Option<Line> {
        let Capacity { n_rows, n_tokens } = self.capacity;
        self.queue.pop_if(|line| {
            let n_rows_then = load.n_rows.saturating_add(line.n_rows());
            let longest = load.longest.max(line.n_tokens());
            let fits = n_rows_then <= n_rows && n_rows_then.saturating_mul(longest) <= n_tokens;
            load.n_rows == 0 || line.n_rows() == 0 || load.n_rows < share && fits
        })
    }

    /// Returns whether no other thread has anything to do.
    pub(super) fn is_alone(&self, thread: usize) -> bool {
        let mut others = self.loads.iter().enumerate();
        others.all(|(other, load)| other == thread || load.n_rows == 0)
    }

    /// Returns what all threads run: lines and rows.
    pub(super) fn n_running(&self) -> (usize, usize) {
        let sum = |of: fn(&Load) -> usize| self.loads.iter().map(of).sum();
        (sum(|load| load.n_lines), sum(|load| load.n_rows))
    }
}
