//! What a model is worth: metrics of updates and validations, translations, and their history.

mod history;
mod metrics;
mod samples;
mod text_scores;
mod valid_loader;

pub(crate) use history::{History, Validation, best, is_out_of_patience};
pub(crate) use metrics::{
    BLEU, BatchMetrics, CHRF, EXACT_MATCH, GRADIENT_NORM, LOSS, OnNonFinite, PADDING, PERPLEXITY,
    Ratio, SPEED, TextMetric, TranslationCounts,
};
pub use samples::Sample;
pub(crate) use samples::Samples;
pub(crate) use text_scores::TextMetrics;
pub use text_scores::TextScores;
pub(crate) use valid_loader::{ValidBatch, ValidLoader, ValidPairs, valid_batches};
