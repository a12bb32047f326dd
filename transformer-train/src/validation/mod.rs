//! Validation: losses and translations of validation pairs, metrics, and the history of validations.

mod external_scorer;
mod history;
mod metrics;
mod pair_translator;
mod samples;
mod text_scores;
mod valid_loader;

pub(crate) use external_scorer::{ExternalScorer, SCORED_FILES};
pub(crate) use history::{History, Validation, best, is_out_of_patience, wait_for_validation};
pub(crate) use metrics::{
    BLEU, CHRF, COMMAND, EXACT_MATCH, GRADIENT_NORM, IntervalMetric, LEARNING_RATE, LOSS,
    OnNonFinite, PADDING, PERPLEXITY, SPEED, geometric_mean, number_of_corpus, of_corpus,
};
pub(crate) use pair_translator::{PairTranslator, Translation};
pub use samples::Sample;
pub(crate) use samples::Samples;
pub(crate) use text_scores::TextMetrics;
pub use text_scores::TextScores;
pub(crate) use valid_loader::{ValidLoader, ValidPairs, valid_batches};
