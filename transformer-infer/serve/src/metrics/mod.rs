//! Metrics of the server, in the text format of Prometheus.

mod collect;
mod labels;
mod of_models;

pub(crate) use collect::Metrics;
