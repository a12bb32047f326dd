//! A server that translates over HTTP.
//!
//! Programs use it through `transformer-infer`, which exports it as `serve`.
//!
//! ```text
//! connection ─ server/ ─▶ http/ (who, how much) ─▶ v1/ and other interfaces ─ translate/ ─▶ Scheduler of a model
//! ```
//!
//! - [`ServeOptions`], [`Limits`]: the models, the address, and the limits of the server.
//! - [`Server`]: listens, loads models, answers, and stops on a signal.

mod config;
mod deepl;
mod deeplx;
mod files;
mod glossaries;
mod google;
mod http;
mod keys;
mod languages;
mod libretranslate;
mod metrics;
mod microsoft;
mod models;
mod mtuoc;
mod openai;
mod page;
mod parameters;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod translate;
mod v1;

pub use config::{Limits, ServeError, ServeOptions};
#[doc(hidden)]
pub use config::{Network, NetworkError};
pub use server::Server;
#[doc(hidden)]
pub use server::{ServerSignal, os_signals};
