//! Checkpoints: their files and states, their retention, and the models made from them.

mod average;
mod early_stop;
mod files;
mod fit;
mod publisher;
mod resume_point;
mod retention;
mod state;
mod writer;

pub(crate) use average::average;
pub(crate) use early_stop::EarlyStop;
pub(crate) use files::{
    MODEL, OPTIMIZER, PARTS, SCHEDULER, STATE, checkpoints_with, last_of, of_interval, updates_of,
};
pub use fit::Misfit;
pub(crate) use publisher::{ModelCheckpointer, OnPublish, Publisher};
pub(crate) use resume_point::ResumePoint;
pub(crate) use retention::Retention;
pub(crate) use state::{SavedState, SettingChange, checkpoints_with_intact_weights};
pub(crate) use writer::{CheckpointWriter, PartCheckpointer};
