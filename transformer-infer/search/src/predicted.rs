//! [`Predicted`]: the part of a step's prediction that the search needs.

use std::slice;

use super::ScoredToken;
use super::processors::Prediction;

/// The prediction of one step for all rows.
#[derive(Debug)]
pub(super) enum Predicted {
    /// The likeliest tokens of each row, including all that can be chosen.
    TopK(Vec<Vec<ScoredToken>>),
    /// Only the likeliest token of each row.
    Best(Vec<ScoredToken>),
    /// The scores of the whole vocabulary.
    All(Prediction),
}

impl Predicted {
    /// Returns the model's log-probability of each token of a row, if all were read.
    pub(super) fn log_probs(&self, row: usize) -> &[f32] {
        match self {
            Self::TopK(_) | Self::Best(_) => &[],
            Self::All(prediction) => prediction.log_probs(row),
        }
    }

    /// Returns the likeliest tokens of a row; empty if all tokens were read.
    pub(super) fn likeliest(&self, row: usize) -> &[ScoredToken] {
        match self {
            Self::TopK(top_k) => &top_k[row],
            Self::Best(best) => slice::from_ref(&best[row]),
            Self::All(_) => &[],
        }
    }
}
