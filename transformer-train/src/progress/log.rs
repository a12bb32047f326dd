//! The two functions through which a library call reports to its user.

use std::sync::Arc;

/// Receives one line of the log: a program prints it, a test collects it.
pub type LogFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Receives a status line that replaces the previous one; an empty line clears it.
///
/// Programs pass one if a user is watching a terminal.
pub type StatusFn = Arc<dyn Fn(&str) + Send + Sync>;
