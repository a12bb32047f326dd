//! Display of a run's progress: dashboard or log lines, and files with tables, curves and events.

mod axis;
mod csv_log;
mod curve;
mod dashboard;
mod drawing;
mod line_renderer;
mod tensorboard;

pub(crate) use csv_log::{CURVE_FILE, CsvLog, METRICS_FILE, SAMPLES_FILE};
pub(crate) use dashboard::dashboard;
pub(crate) use line_renderer::LineRenderer;
pub(crate) use tensorboard::{EventLog, is_event_file};
