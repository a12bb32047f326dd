//! The settings of a plan.

use crate::config::TrainingSettings;

/// Settings for grouping sentences into batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanConfig {
    /// Maximum batch size in tokens, padding included, on source and target side each:
    /// `n × (longest source + 1)` and `n × (longest target + 1)` are both at most this. The paper
    /// uses about 25,000 (§5.1).
    pub tokens_per_batch: usize,
    /// Maximum number of sentences sorted by length together. A larger window means less padding,
    /// but the same sentences share a batch more often from pass to pass. A pass therefore has at
    /// least four windows, unless they would be smaller than sixteen batches. Default 131,072.
    pub window: usize,
    /// Seed of all shuffles. Default 1.
    pub seed: u64,
}

impl Default for PlanConfig {
    /// Returns the plan of the default [`TrainingSettings`].
    fn default() -> Self {
        Self::from(&TrainingSettings::default())
    }
}

impl From<&TrainingSettings> for PlanConfig {
    fn from(training: &TrainingSettings) -> Self {
        Self {
            tokens_per_batch: training.tokens_per_batch,
            window: training.window,
            seed: training.seed,
        }
    }
}

/// The sampling weight of one of several corpora, which are concatenated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorpusWeight {
    /// Number of sentences in this corpus.
    pub n_sentences: usize,
    /// Mean number of times that each sentence is used per pass: 2 is twice per pass, 0.5 is every
    /// other pass.
    pub weight: f64,
}
