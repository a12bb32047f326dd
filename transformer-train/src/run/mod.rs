//! A run from an experiment to a model directory: open the folder, prepare, learn, select, publish.

mod average_checkpoints;
mod changes;
mod command_scorer;
mod environment;
mod finetune;
mod folder;
mod forecast;
mod learn;
mod memory_estimate;
mod mixture;
mod non_finite;
mod outcome;
mod prepare;
mod recommend;
mod select;
mod train;
mod trained_tokens;
mod validation_pairs;
mod warnings;

pub use average_checkpoints::{CheckpointChoice, average_checkpoints};
pub use environment::{Display, RunEnvironment, ThreadCount};
pub use folder::{Existing, is_unfinished};
pub use outcome::{Outcome, TestScore};
pub use recommend::{Recommendation, recommend};
pub use train::{dry_run, follow, train};

#[cfg(test)]
mod changes_tests;
#[cfg(test)]
mod warnings_tests;
