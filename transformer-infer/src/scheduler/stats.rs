//! [`SchedulerStats`]: what runs and waits, and what was done so far.

use std::time::Duration;

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
    /// Time that all threads spent with encoding, in sum.
    pub encoding: Duration,
    /// Time that all threads spent with decoding, in sum.
    pub decoding: Duration,
}

impl SchedulerTotals {
    /// Adds what was done in the meantime.
    pub(super) fn add(&mut self, other: &Self) {
        self.n_translated += other.n_translated;
        self.n_failed += other.n_failed;
        self.n_src_tokens += other.n_src_tokens;
        self.n_tgt_tokens += other.n_tgt_tokens;
        self.n_steps += other.n_steps;
        self.n_row_steps += other.n_row_steps;
        self.encoding += other.encoding;
        self.decoding += other.decoding;
    }
}
