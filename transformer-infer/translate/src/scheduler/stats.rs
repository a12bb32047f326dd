//! [`SchedulerStats`]: what runs and waits, and what was done so far.

use std::time::Duration;

/// Borders of the counters of [`SchedulerTotals::steps_by_rows`]: each counts the steps of at most so many rows that the
/// one before does not; one more counts steps of more rows.
pub const ROW_BORDERS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// What a scheduler does at a moment, and what it has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulerStats {
    /// Number of lines that wait.
    pub n_queued_lines: usize,
    /// Number of their source tokens, EOS included.
    pub n_queued_tokens: usize,
    /// Number of lines that are being translated.
    pub n_running_lines: usize,
    /// Most rows that these need: one for each hypothesis of a beam, or for each sample.
    pub n_running_rows: usize,
    /// What was done since the scheduler was made.
    pub totals: SchedulerTotals,
}

/// What a scheduler has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Time that all threads spent with encoding, in sum.
    pub encoding: Duration,
    /// Time that all threads spent with decoding, in sum.
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

    /// Adds what was done in the meantime.
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
