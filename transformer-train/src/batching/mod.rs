//! Batches: the sentences of every update (§5.1), and their tensors.

mod batch;
mod loader;
mod pass;
mod plan;
mod update_gate;

pub use batch::{Batch, BatchSize, IntervalTiming, ShardSpec, Update};
pub(crate) use loader::TrainLoader;
pub use plan::{CorpusWeight, Plan, PlanConfig};
pub(crate) use update_gate::UpdateGate;

#[cfg(test)]
mod plan_tests;
