//! How a run shows its intervals: a line for each, and the same as a table and a picture.

mod csv_log;
mod curve;
mod dashboard;
mod line_renderer;

pub(crate) use csv_log::CsvLog;
pub(crate) use dashboard::dashboard;
pub(crate) use line_renderer::LineRenderer;
