//! Reports of a run before its first update, and its early end by a user.

mod interrupt;
mod phase;

pub use interrupt::{Interrupt, Stage};
pub(crate) use phase::DeferredLog;
pub use phase::{LogFn, StatusFn};
pub(crate) use phase::{Phase, Progress};
