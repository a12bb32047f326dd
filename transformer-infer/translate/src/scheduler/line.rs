//! [`Line`]: a waiting or running line of a job, as tokens.

use std::sync::Arc;

use transformer_core::text::Direction;
use transformer_search::{Hypothesis, Request};

use super::job::JobState;
use crate::TranslatorError;

/// The hypotheses of a line, or the error.
pub(super) type LineResult = Result<Vec<Hypothesis>, TranslatorError>;

/// A waiting or running line of a job.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) job: Arc<JobState>,
    /// Its index in the job.
    pub(super) index: usize,
    /// The source tokens to translate, without EOS.
    pub(super) ids: Vec<u32>,
    pub(super) request: Request,
    /// Number of tokens of the source before it was cut.
    pub(super) n_src_tokens: usize,
    /// The tokens of the languages.
    pub(super) direction: Direction,
    pub(super) terms: Vec<String>,
    /// Maximum number of rows that its search needs.
    pub(super) n_rows: usize,
    /// The result, if known without a search.
    pub(super) known: Option<LineResult>,
    /// The number of tokens reported last. If its batch panics, it starts over, and they are not reported again.
    pub(super) n_reported: usize,
}

/// A line with a finished translation.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) line: Line,
    pub(super) result: LineResult,
}

/// A line with one more token in its translation.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) job: Arc<JobState>,
    /// The index of the line in the job.
    pub(super) index: usize,
    /// The tokens so far.
    pub(super) ids: Vec<u32>,
}

impl Line {
    /// Returns the number of source tokens, EOS included.
    pub(super) fn n_tokens(&self) -> usize {
        self.ids.len() + 1
    }

    /// Returns the number of its tokens that count towards the limit of waiting tokens.
    pub(super) fn n_limited_tokens(&self) -> usize {
        if self.job.is_limited {
            self.n_tokens()
        } else {
            0
        }
    }

    /// Returns the number of rows that it needs in a batch.
    pub(super) fn n_rows(&self) -> usize {
        match self.known {
            Some(_) => 0,
            None => self.n_rows,
        }
    }

    /// Returns the cost of its translation, in tokens of all rows.
    pub(super) fn cost(&self) -> usize {
        self.n_tokens().saturating_mul(self.n_rows().max(1))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.job.progress.is_cancelled()
    }
}
