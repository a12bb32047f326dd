//! The settings of the server, and the errors at its start.

mod error;
mod options;

pub use error::ServeError;
pub use options::{Limits, Network, NetworkError, ServeOptions};
