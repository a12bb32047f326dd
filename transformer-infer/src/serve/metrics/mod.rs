//! Metrics of the server, in the text format of Prometheus.

mod collect;
mod labels;

pub(crate) use collect::Metrics;
