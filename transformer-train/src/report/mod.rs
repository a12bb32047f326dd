//! How a run tells its user what it does: a line for each interval, and the same as a table and a picture.

mod csv_log;
mod curve;
mod dashboard;
mod held_line;
mod line_renderer;
mod watch;

use std::sync::Arc;

pub(crate) use csv_log::CsvLog;
pub(crate) use dashboard::dashboard;
pub(crate) use held_line::HeldLine;
pub(crate) use line_renderer::LineRenderer;
pub use watch::Show;
pub(crate) use watch::{Progress, Watch};

/// Takes one line of text for the user; a program prints it, a test keeps it.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;
