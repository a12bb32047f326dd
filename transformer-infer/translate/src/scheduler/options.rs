//! [`SchedulerOptions`]: how many threads translate, and how much runs and waits.

use std::num::NonZeroUsize;

/// How many threads translate, and how much runs and waits. No translation depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Number of threads that translate. Default: as many as the translator was opened with, which is one for each
    /// core. On a device that is no CPU there is always one.
    pub n_threads: Option<NonZeroUsize>,
    /// Most tokens that one thread translates at once, which bounds its memory: the rows of its batch, times the
    /// longest of them, source with EOS and translation so far. Default 8192. A single line may exceed it.
    pub batch_tokens: usize,
    /// Most source tokens that wait, an EOS for each line included. Default 1,000,000.
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
