//! The server itself: connections, routes, signals.

mod connection;
mod connections;
mod listen;
mod router;
mod signals;
mod timed_stream;

pub use listen::Server;
pub use signals::{ServerSignal, os_signals};
