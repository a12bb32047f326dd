//! The scheduler: translates the lines of many callers in shared batches that lines join and leave at every step.
//!
//! ```text
//! submit ─ tokens ─▶ FairQueue ─▶ RunningBatch of each thread ─ one token for each row, again and again ─▶ on_done
//!                    (turns)          ▲ lines enter between steps            │ ended lines leave at once
//! ```
//!
//! - [`Scheduler`]: accepts [`Job`]s, and owns the threads.
//! - [`JobStream`]: the events of a job: each token of a greedy search, and each translation.
//! - [`SchedulerOptions`]: the number of threads, and the limits of running and waiting tokens.
//! - [`SchedulerStats`]: the numbers of running and waiting lines, and totals.

mod batch;
mod group;
mod handle;
mod job;
mod queue;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod worker;

pub use handle::Scheduler;
pub use job::{Job, JobEvent, JobLine, Ticket};
pub use state::{ROW_BORDERS, SchedulerOptions, SchedulerStats, SchedulerTotals, WAIT_BORDERS};
pub use stream::JobStream;
