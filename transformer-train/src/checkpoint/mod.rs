//! Checkpoints: their files and states, which of them are kept, and the model made from them.

mod publisher;
mod retention;
mod state;

pub use publisher::SaveError;
pub(crate) use publisher::{ModelCheckpointer, Publisher, average};
pub(crate) use retention::{Keep, Stop};
pub(crate) use state::{
    Checkpoints, MODEL, PARTS, PartCheckpointer, Resumed, STATE, SavedState, last_of, part_name,
    saved, with_whole_weights,
};
