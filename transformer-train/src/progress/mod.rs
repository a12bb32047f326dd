//! How a run reports to its user before the first update, and how a user ends it.

mod deferred_log;
mod interrupt;
mod log;
mod phase;

pub(crate) use deferred_log::DeferredLog;
pub use interrupt::{Interrupt, Stage};
pub use log::{LogFn, StatusFn};
pub(crate) use phase::{Phase, Progress};
