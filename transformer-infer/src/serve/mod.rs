//! A server that translates over HTTP. Compiled with the feature `serve` only.
//!
//! ```text
//! connection ─ server/ ─▶ http/ (who, how much) ─▶ v1/ and other interfaces ─ translate/ ─▶ Scheduler of a model
//! ```
//!
//! - [`ServeOptions`], [`Limits`]: what is served, and to whom.
//! - [`Server`]: listens, loads models, answers, and stops when it is told to.

mod config;
mod deepl;
mod files;
mod http;
mod keys;
mod languages;
mod libretranslate;
mod metrics;
mod models;
mod page;
mod parameters;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod translate;
mod v1;

pub use config::{Limits, Network, NetworkError, ServeError, ServeOptions};
pub use server::{Server, ServerSignal, os_signals};
