//! Tests of the scheduler's parts, without threads.

mod batch;
mod doubles;
mod memory;
mod queue;
mod state;
mod whole_batch;
