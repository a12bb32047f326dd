//! The event file of a run, which TensorBoard shows while it trains.

mod event;
mod event_log;
mod histogram;
mod record;

pub(crate) use event_log::{EventLog, is_event_file};
