//! A run from beginning to end: its folder, its text, its updates, and the model that it chooses.

mod average;
mod changes;
mod embeddings;
mod error;
mod finetune;
mod folder;
mod forecast;
mod learn;
mod prepare;
mod select;
mod train;
mod update_lines;
mod warnings;

pub use average::{Choice, average_checkpoints};
pub(crate) use changes::changes;
pub(crate) use embeddings::Embeddings;
pub use error::TrainError;
pub use folder::Existing;
pub(crate) use folder::Folder;
pub use forecast::dry_run;
pub(crate) use learn::learn;
pub(crate) use prepare::{Prepared, Start};
pub(crate) use select::Finish;
pub(crate) use train::{Begun, Run};
pub use train::{Display, Outcome, RunEnvironment, TestScore, ThreadCount, is_unfinished, train};
pub(crate) use update_lines::lines_of;
pub(crate) use warnings::{Facts, warnings};
