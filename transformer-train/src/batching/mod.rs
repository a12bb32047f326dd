//! Which sentences are in which update (§5.1), and the tensors made from them.

mod batch;
mod gate;
mod loader;
mod plan;

pub use batch::{Batch, BatchSize, Clock, Deal, Update};
pub(crate) use gate::Gate;
pub(crate) use loader::TrainLoader;
pub use plan::{Plan, PlanConfig, PlanError, Share};
