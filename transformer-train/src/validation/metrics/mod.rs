//! The metrics of training and validation, computed over an interval.

mod interval_metric;
#[cfg(test)]
mod tests;
mod total;

pub(crate) use interval_metric::{
    BLEU, CHRF, COMMAND, EXACT_MATCH, GRADIENT_NORM, IntervalMetric, LEARNING_RATE, LOSS,
    OnNonFinite, PADDING, PERPLEXITY, SPEED, number_of_corpus, of_corpus,
};
pub(crate) use total::{BatchMetrics, TranslationCounts, geometric_mean};
