//! [`SchedulerError`]: the errors of jobs and of starting a scheduler.

use std::io;

use crate::translator::TranslatorError;

/// Error of a job that was not accepted, or of starting the scheduler.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// Other jobs wait already.
    #[error(
        "{n_queued_tokens} tokens are waiting, and {n_tokens} more would exceed the limit of {limit}; try again when \
         some are translated"
    )]
    QueueFull {
        /// Number of source tokens that wait.
        n_queued_tokens: usize,
        /// Number of source tokens of the job.
        n_tokens: usize,
        /// Maximum number of source tokens that may wait.
        limit: usize,
    },
    /// The job is larger than the whole queue.
    #[error(
        "the job has {n_tokens} tokens, more than the limit of {limit} tokens that may wait; split it"
    )]
    JobTooLarge {
        /// Number of source tokens of the job.
        n_tokens: usize,
        /// Maximum number of source tokens that may wait.
        limit: usize,
    },
    /// The scheduler accepts no more jobs.
    #[error("the scheduler is shut down and takes no more jobs; make another one")]
    ShutDown,
    /// The operating system cannot start a thread.
    #[error(
        "the system cannot start a thread to translate on; raise the limit of processes (`ulimit -u`, or that of the \
         container) or of memory"
    )]
    Threads(#[source] io::Error),
    /// The job's search is not valid, or cannot be used with its lines.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
}
