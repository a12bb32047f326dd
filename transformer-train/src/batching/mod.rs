//! Batches: the sentences of every update (§5.1), and their tensors.

mod batch;
mod loader;
mod plan;

pub use batch::{Batch, BatchSize, IntervalTiming, ShardSpec, Update};
pub(crate) use loader::{TrainLoader, UpdateGate};
pub use plan::{CorpusWeight, Plan};

#[cfg(test)]
mod plan_tests;
