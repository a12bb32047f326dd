//! Metrics of the server, in the text format of Prometheus.

mod collect;
mod of_models;

/// The labels of a metric, in order: names and values.
type Labels<const N: usize> = [(&'static str, String); N];

pub(crate) use collect::Metrics;
