//! The outcome of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::validation::{Sample, TextScores};

/// The model that a run has produced, and its scores.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The model directory.
    pub model: PathBuf,
    /// Number of updates up to the last checkpoint.
    pub n_updates: u64,
    /// True if the run ended because no validation was better than the best one for too long.
    pub is_out_of_patience: bool,
    /// Time spent on training and validation.
    pub elapsed: Duration,
    /// Perplexity per target token on the validation pairs, without label smoothing.
    pub valid_perplexity: f64,
    /// Scores of the translated validation pairs, with the search of `[validation]`.
    pub text_scores: TextScores,
    /// The score that `validation.command` printed for the same translations; `None` without a
    /// command, or if it failed.
    pub command_score: Option<f64>,
    /// Result on the test pairs; only built-in tasks have any.
    pub test: Option<TestScore>,
    /// Validation sentences with their references and the model's translations.
    pub samples: Vec<Sample>,
}

/// Number of test pairs with an exact translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestScore {
    /// Pairs translated.
    pub n_pairs: usize,
    /// Pairs with a translation that equals the reference, character by character.
    pub n_exact: usize,
}

impl TestScore {
    /// Returns the share of exact translations, from 0 to 1.
    pub fn exact_match(&self) -> f64 {
        self.n_exact as f64 / self.n_pairs as f64
    }
}
