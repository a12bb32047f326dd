//! The log of the server, on standard error.

use std::io;

use clap::ValueEnum;
use tracing_subscriber::fmt;

/// The format of the log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogFormat {
    /// A line of text for each event.
    Plain,
    /// A line of JSON for each event.
    Json,
}

/// The events that are logged.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogLevel {
    /// Errors that need attention.
    Error,
    /// Also events that may become a problem.
    Warn,
    /// Also every request, without its text.
    Info,
}

/// Begins to log.
pub(super) fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
    };
    let log = fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .with_writer(io::stderr);
    match format {
        LogFormat::Plain => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
