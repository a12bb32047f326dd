//! Reports of a run before its first update, and its early end by a user.

mod deferred_log;
mod interrupt;
mod phase;

pub(crate) use deferred_log::DeferredLog;
pub use interrupt::{Interrupt, Stage};
pub use phase::{LogFn, StatusFn};
pub(crate) use phase::{Phase, Progress};
