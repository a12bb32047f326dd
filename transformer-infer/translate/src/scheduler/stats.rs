//! [`SchedulerStats`]: the numbers of running and waiting lines, and the totals so far.

use std::time::Duration;

/// Upper bounds of the counters of [`SchedulerTotals::steps_by_rows`]: each counts the steps with at most that many
/// rows, and more than the previous bound; one more counter has the steps with more rows.
pub const ROW_BORDERS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

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
    /// Total time that all threads spent encoding.
    pub encoding: Duration,
    /// Total time that all threads spent decoding.
    pub decoding: Duration,
}

impl SchedulerTotals {
    /// Returns the totals of one decoding step.
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

    /// Adds the totals of a further period.
    pub(super) fn add(&mut self, other: &Self) {
        self.n_translated += other.n_translated;
        self.n_failed += other.n_failed;
        self.n_src_tokens += other.n_src_tokens;
        self.n_tgt_tokens += other.n_tgt_tokens;
        self.n_steps += other.n_steps;
        self.n_row_steps += other.n_row_steps;
        for (sum, n) in self.steps_by_rows.iter_mut().zip(other.steps_by_rows) {
            *sum += n;
        }
        self.encoding += other.encoding;
        self.decoding += other.decoding;
    }
}
