//! What a model is worth: metrics of updates and validations, translations, and their history.

mod history;
mod metrics;
mod samples;
mod text_scores;
mod valid_loader;

pub(crate) use history::{History, Validation, best, is_out_of_patience};
pub(crate) use metrics::{
    BLEU, CHRF, EXACT_MATCH, GRADIENT_NORM, LOSS, Numbers, OnNonFinite, PADDING, PERPLEXITY, Ratio,
    SPEED, StepReport, Translated, ValidReport,
};
pub(crate) use samples::Samples;
pub use text_scores::TextScores;
pub(crate) use text_scores::{TextCounts, TextMetrics, TextScore};
pub(crate) use valid_loader::{ValidBatch, ValidLoader, ValidPairs, valid_batches};
