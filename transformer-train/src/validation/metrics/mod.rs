//! The metrics of training and validation, computed over an interval.

mod batch_metrics;
mod command_metric;
mod learning_rate;
mod names;
mod of_corpora;
mod ratio;
mod text_metric;

pub(crate) use batch_metrics::{BatchMetrics, TranslationCounts};
pub(crate) use command_metric::CommandMetric;
pub(crate) use learning_rate::LearningRate;
pub(crate) use names::{
    BLEU, CHRF, COMMAND, EXACT_MATCH, GRADIENT_NORM, LEARNING_RATE, LOSS, PADDING, PERPLEXITY,
    SPEED, number_of_corpus, of_corpus,
};
pub(crate) use of_corpora::{MeanOfCorpora, OfCorpus, geometric_mean};
pub(crate) use ratio::{OnNonFinite, Ratio};
pub(crate) use text_metric::TextMetric;
