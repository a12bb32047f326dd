//! The server itself: connections, routes, signals.

mod connection;
mod connections;
mod listen;
mod router;
mod timed_stream;

pub use listen::{Server, ServerSignal, os_signals};
