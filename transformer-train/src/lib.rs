//! How a Transformer learns: parallel text in, a model directory out (§5 of the paper).
//!
//! ```text
//! text ─ corpus ─▶ ids ─ plan ─▶ batches ─▶ loss ─▶ Learner ─▶ checkpoints ─ average ─▶ model directory
//! ```
//!
//! - [`config::Experiment`]: everything a run depends on, in one TOML file.
//! - [`train`](fn@train): a whole run.
//! - [`corpus`]: parallel text from files, filtered and tokenized into a compact store.
//! - [`tasks`]: text made in code, for trying things out.
//! - [`plan`]: which sentences are in which update, a pure function.
//! - [`loss`]: label-smoothed cross-entropy, fused with the projection onto the vocabulary.
//! - [`adam`], [`schedule`]: the optimizer and its learning rate.
//! - [`clip`]: clipping by the global norm.
//! - [`threads`]: threads that share an update.
//!
//! # Example
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use transformer_core::device;
//! use transformer_train::config::Experiment;
//! use transformer_train::tasks::Task;
//! use transformer_train::{Display, Existing, Interrupt, Surroundings, ThreadCount, train};
//!
//! let (_, device) = device::choose(None)?;
//! let surroundings = Surroundings {
//!     directory: "runs/copy".into(),
//!     existing: Existing::Resume,
//!     device,
//!     more_devices: Vec::new(),
//!     threads: ThreadCount::Exactly(1),
//!     say: Arc::new(|line| println!("{line}")),
//!     display: Display::Lines,
//!     show: None,
//!     interrupt: Interrupt::default(),
//! };
//! let outcome = train(&Experiment::for_task(Task::Copy), &surroundings)?;
//! println!("perplexity {:.3}, in {}", outcome.valid_perplexity, outcome.model.display());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adam;
pub mod average;
pub mod batch;
pub mod clip;
pub mod config;
pub mod corpus;
pub mod loss;
pub mod plan;
pub mod schedule;
pub mod tasks;
pub mod threads;

mod changes;
mod checkpoint;
mod devices;
mod ema;
mod embeddings;
mod error;
mod finetune;
mod finish;
mod folder;
mod forecast;
mod history;
mod interrupt;
mod keep;
mod learn;
mod lines;
mod loader;
mod metrics;
mod objective;
mod prepare;
mod read_text;
mod report;
mod run;
mod samples;
mod saved_state;
mod store_folder;
mod sums;
mod text_scores;
mod warnings;

pub use batch::{Batch, BatchSize, Clock, Deal, SentencePair, Update};
pub use checkpoint::SaveError;
pub use error::TrainError;
pub use folder::Existing;
pub use forecast::dry_run;
pub use interrupt::{Interrupt, Stage};
pub use report::{Say, Show};
pub use run::{
    Display, Outcome, Sample, Surroundings, TestScore, ThreadCount, is_unfinished, train,
};
pub use text_scores::TextScores;
