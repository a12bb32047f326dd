//! Checkpoints: their files and states, their retention, and the models made from them.

mod files;
mod fit;
mod publisher;
mod state;
mod strategies;
mod writer;

pub(crate) use files::{
    MODEL, OPTIMIZER, PARTS, SCHEDULER, STATE, checkpoints_with, last_of, of_interval, updates_of,
};
pub use fit::Misfit;
pub(crate) use fit::average;
pub(crate) use publisher::{ModelCheckpointer, OnPublish, Publisher};
pub(crate) use state::{SavedState, SettingChange, checkpoints_with_intact_weights};
pub(crate) use strategies::{EarlyStop, Retention};
pub(crate) use writer::{CheckpointWriter, PartCheckpointer};
