//! Trains Transformers: parallel text in, a model directory out (§5 of the paper).
//!
//! ```text
//! text ─ corpus ─▶ ids ─ batching ─▶ batches ─ step ─▶ updates ─ validation ─▶ scores
//!                                                         └─ checkpoint ─▶ weights ─ average ─▶ model
//! ```
//!
//! # Where to begin
//!
//! - [`train`](fn@train): a whole run; [`dry_run`]: a forecast of it.
//! - [`recommend`]: a recipe for a text, by its size.
//! - [`config::Experiment`]: everything that a run depends on, in one TOML file.
//! - [`tasks`]: text made in code, for trying things out.
//! - [`step`]: label-smoothed cross-entropy, fused with the projection onto the vocabulary; threads
//!   that share an update.
//! - [`optim`]: the optimizer, its learning rate, and clipping by the global norm.
//!
//! # Example
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use transformer_core::device;
//! use transformer_train::config::Experiment;
//! use transformer_train::tasks::Task;
//! use transformer_train::{RunEnvironment, train};
//!
//! let (_, device) = device::choose(None)?;
//! let environment = RunEnvironment {
//!     log: Arc::new(|line| println!("{line}")),
//!     ..RunEnvironment::new("runs/copy", &device)
//! };
//! let outcome = train(&Experiment::for_task(Task::Copy), &environment)?;
//! println!("perplexity {:.3}, in {}", outcome.valid_perplexity, outcome.model.display());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod batching;
pub mod config;
pub mod optim;
pub mod step;
pub mod tasks;

mod checkpoint;
mod corpus;
mod error;
mod progress;
mod report;
mod run;
mod validation;
#[cfg(test)]
#[path = "../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;

#[doc(hidden)]
pub use batching::{Batch, BatchSize, IntervalTiming, ShardSpec, Update};
#[doc(hidden)]
pub use checkpoint::Misfit;
#[doc(hidden)]
pub use corpus::{CorpusSummary, SentencePair};
pub use error::TrainError;
pub use progress::Interrupt;
#[doc(hidden)]
pub use progress::{LogFn, Stage, StatusFn};
#[doc(hidden)]
pub use run::{CheckpointChoice, Display, Existing, TestScore, ThreadCount, follow, is_unfinished};
pub use run::{
    Outcome, Recommendation, RunEnvironment, average_checkpoints, dry_run, recommend, train,
};
#[doc(hidden)]
pub use validation::{Sample, TextScores};
