//! The optimizer, its learning rate, and clipping (§5.3).

mod adam;
mod clip;
pub(crate) mod ema;
mod schedule;

pub use adam::Adam;
pub use clip::{clip_by_global_norm, global_norm};
pub use schedule::Schedule;
