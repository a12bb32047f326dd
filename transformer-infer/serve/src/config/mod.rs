//! The settings of the server, and the errors at its start.

mod error;
mod network;
mod options;

pub use error::ServeError;
pub use network::{Network, NetworkError};
pub use options::{Limits, ServeOptions};
