//! The metrics of training and validation, computed over an interval.

mod batch_metrics;
mod names;
mod ratio;
mod text_metric;

pub(crate) use batch_metrics::{BatchMetrics, TranslationCounts};
pub(crate) use names::{BLEU, CHRF, EXACT_MATCH, GRADIENT_NORM, LOSS, PADDING, PERPLEXITY, SPEED};
pub(crate) use ratio::{OnNonFinite, Ratio};
pub(crate) use text_metric::TextMetric;
