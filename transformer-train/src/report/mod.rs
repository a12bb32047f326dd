//! Display of a run's progress: dashboard or log lines, and files with tables, curves and events.

mod csv_log;
mod curve;
mod dashboard;
mod drawing;
mod event;
mod event_log;
mod line_renderer;

pub(crate) use csv_log::{CURVE_FILE, CsvLog, METRICS_FILE, SAMPLES_FILE};
pub(crate) use dashboard::dashboard;
pub(crate) use event_log::{EventLog, is_event_file};
pub(crate) use line_renderer::LineRenderer;
