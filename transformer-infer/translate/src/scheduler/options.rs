//! [`SchedulerOptions`]: the number of threads, and the limits of running and waiting tokens.

use std::num::NonZeroUsize;

/// The number of threads, and the limits of running and waiting tokens. No translation depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Number of threads that translate. Default: as many as the translator was opened with, which is one per core. On
    /// a device other than a CPU there is always one.
    pub n_threads: Option<NonZeroUsize>,
    /// Maximum number of tokens that one thread translates at once, which bounds its memory: the rows of its batch
    /// times the longest of them, source with EOS and translation so far. Default 8192. A single line may exceed it.
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
