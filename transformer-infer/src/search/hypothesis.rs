//! One output of a search.

use transformer_core::text::EOS;

use super::LengthPenalty;

/// Holds one generated sequence and how likely the model finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The generated tokens, without BOS and EOS.
    pub ids: Vec<u32>,
    /// Sum of the log-probabilities of all generated tokens, EOS included, in nats. NaN if the model
    /// gave no probability to any next token, which means that it computes NaN itself.
    pub log_prob: f64,
    /// `log_prob` divided by the length penalty: what hypotheses of different lengths are ranked by.
    pub score: f64,
    /// Whether the sequence ended with EOS. If not, it was cut at the length limit; a search ranks
    /// such a hypothesis behind all finished ones.
    pub finished: bool,
}

impl Hypothesis {
    /// Returns the hypothesis that holds nothing, the output of an empty source.
    pub fn empty() -> Self {
        Self {
            ids: Vec::new(),
            log_prob: 0.0,
            score: 0.0,
            finished: true,
        }
    }
}

/// Holds the beginning of a sequence that may still grow.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    /// The tokens so far, without BOS.
    pub(super) ids: Vec<u32>,
    /// Sum of their log-probabilities.
    pub(super) log_prob: f64,
}

impl Prefix {
    pub(super) fn new() -> Self {
        Self {
            ids: Vec::new(),
            log_prob: 0.0,
        }
    }

    /// Returns the token that the model is given to score the next one.
    pub(super) fn last_token(&self) -> u32 {
        self.ids
            .last()
            .copied()
            .unwrap_or(transformer_core::text::BOS)
    }

    /// Makes a copy that is one token longer; `log_prob` is the sum with that token.
    pub(super) fn grown(&self, id: u32, log_prob: f64) -> Self {
        debug_assert_ne!(id, EOS, "a prefix that ends is a hypothesis");
        let mut ids = Vec::with_capacity(self.ids.len() + 1);
        ids.extend_from_slice(&self.ids);
        ids.push(id);
        Self { ids, log_prob }
    }

    /// Ends the sequence with EOS; `log_prob` is the sum with EOS.
    pub(super) fn finish(&self, log_prob: f64, penalty: LengthPenalty) -> Hypothesis {
        let score = penalty.score(log_prob, self.ids.len() + 1);
        Hypothesis {
            ids: self.ids.clone(),
            log_prob,
            score,
            finished: true,
        }
    }

    /// Ends the sequence where it stands.
    pub(super) fn cut(self, penalty: LengthPenalty) -> Hypothesis {
        let score = penalty.score(self.log_prob, self.ids.len());
        Hypothesis {
            ids: self.ids,
            log_prob: self.log_prob,
            score,
            finished: false,
        }
    }

    /// Ends a sequence to which the model gives no continuation any probability.
    pub(super) fn abandon(self) -> Hypothesis {
        Hypothesis {
            ids: self.ids,
            log_prob: f64::NAN,
            score: f64::NAN,
            finished: false,
        }
    }
}
