//! `transformer-infer serve`: translates over HTTP.

mod command;
mod limit_flags;
mod log;

pub(crate) use command::Serve;
