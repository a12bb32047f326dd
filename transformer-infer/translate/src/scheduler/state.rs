//! [`State`]: the waiting lines, the load of each thread, and the lines that a thread takes next.

use super::line::Line;
use super::queue::FairQueue;
use crate::batch::FEWEST_ROWS;

/// A batch is refilled when `1/REFILL` of its rows are free: encoding sentences together costs less.
const REFILL: usize = 8;

/// The load of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) n_lines: usize,
    /// Maximum number of rows that its lines need.
    pub(super) n_rows: usize,
    /// Number of tokens of the longest row: source and translation so far.
    pub(super) longest: usize,
}

/// The capacity of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// Maximum number of rows.
    pub(super) n_rows: usize,
    /// Maximum number of tokens: rows times the longest of them.
    pub(super) n_tokens: usize,
}

/// The waiting lines and the loads. All threads share this, under a mutex that is held only briefly.
#[derive(Debug)]
pub(super) struct State {
    pub(super) queue: FairQueue,
    /// The load of each thread.
    loads: Vec<Load>,
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
            capacity,
            is_closed: false,
            is_cancelled: false,
        }
    }

    /// Sets the number of threads: the first of those that this was made for.
    pub(super) fn set_threads(&mut self, n_threads: usize) {
        self.loads.truncate(n_threads);
    }

    /// Takes the lines that a thread translates next, besides those that it runs already.
    ///
    /// Few rows go to one thread; more are shared evenly, until each thread has as many as a batch may have. A thread
    /// with a nearly full batch waits for more room.
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

    /// Returns whether every other thread is idle.
    pub(super) fn is_alone(&self, thread: usize) -> bool {
        let mut others = self.loads.iter().enumerate();
        others.all(|(other, load)| other == thread || load.n_rows == 0)
    }

    /// Returns the numbers of lines and rows that all threads run.
    pub(super) fn n_running(&self) -> (usize, usize) {
        let sum = |of: fn(&Load) -> usize| self.loads.iter().map(of).sum();
        (sum(|load| load.n_lines), sum(|load| load.n_rows))
    }
}
