//! One output of a search.

use transformer_core::text::{BOS, EOS};

use super::coverage::coverage;
use super::{NEVER_GENERATED, Search};

/// Holds one generated sequence and how likely the model finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The generated tokens, without BOS and EOS.
    pub ids: Vec<u32>,
    /// The log-probability of each generated token, in nats: one for each of `ids`, and one for EOS if
    /// the sequence is finished. Always the model's own, whatever the search ranks by.
    pub token_log_probs: Vec<f32>,
    /// Sum of the log-probabilities of all generated tokens, EOS included, in nats. NaN if the model
    /// gave no probability to any next token, which means that it computes NaN itself.
    pub log_prob: f64,
    /// What hypotheses of different lengths are ranked by: `log_prob` divided by the length penalty. A
    /// repetition penalty and an end for free enter before the division, a coverage penalty is added behind
    /// it.
    pub score: f64,
    /// Whether the sequence ended with EOS, which [`AtLimit`](super::AtLimit) may have made it do. If not, it was cut at the length limit; a search ranks
    /// such a hypothesis behind all finished ones.
    pub finished: bool,
}

impl Hypothesis {
    /// Returns the hypothesis that holds nothing, the output of an empty source.
    pub fn empty() -> Self {
        Self {
            ids: Vec::new(),
            token_log_probs: Vec::new(),
            log_prob: 0.0,
            score: 0.0,
            finished: true,
        }
    }
}

/// Names the token that a sequence grows by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) id: u32,
    /// What the model gives the token.
    pub(super) log_prob: f32,
    /// What the search ranks it by: the same, or what processors made of it.
    pub(super) rank: f32,
}

/// Holds the beginning of a sequence that may still grow.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    /// The tokens so far, without BOS.
    pub(super) ids: Vec<u32>,
    token_log_probs: Vec<f32>,
    /// Sum of the log-probabilities.
    log_prob: f64,
    /// Sum of what the search ranks the tokens by.
    pub(super) rank: f64,
    /// The attention that each source token got so far; empty unless a coverage penalty asks.
    attended: Vec<f32>,
}

impl Prefix {
    pub(super) fn new() -> Self {
        Self {
            ids: Vec::new(),
            token_log_probs: Vec::new(),
            log_prob: 0.0,
            rank: 0.0,
            attended: Vec::new(),
        }
    }

    /// Returns the token that the model is given to score the next one.
    pub(super) fn last_token(&self) -> u32 {
        self.ids.last().copied().unwrap_or(BOS)
    }

    /// Adds the attention with which the next token is predicted.
    pub(super) fn attend(&mut self, attention: &[f32]) {
        if self.attended.is_empty() {
            self.attended = attention.to_vec();
        } else {
            for (sum, weight) in self.attended.iter_mut().zip(attention) {
                *sum += weight;
            }
        }
    }

    /// Grows by one token.
    pub(super) fn push(&mut self, step: Step) {
        debug_assert_ne!(step.id, EOS, "a prefix that ends is a hypothesis");
        self.ids.push(step.id);
        self.token_log_probs.push(step.log_prob);
        self.log_prob += f64::from(step.log_prob);
        self.rank += f64::from(step.rank);
    }

    /// Makes a copy that is one token longer.
    pub(super) fn grown(&self, step: Step) -> Self {
        let mut grown = Self {
            ids: with_room_for_one(&self.ids),
            token_log_probs: with_room_for_one(&self.token_log_probs),
            attended: self.attended.clone(),
            ..*self
        };
        grown.push(step);
        grown
    }

    /// Ends the sequence with EOS.
    pub(super) fn finish(&self, eos: Step, search: &Search) -> Hypothesis {
        let mut token_log_probs = with_room_for_one(&self.token_log_probs);
        token_log_probs.push(eos.log_prob);
        let rank = self.rank + f64::from(eos.rank);
        Hypothesis {
            ids: self.ids.clone(),
            token_log_probs,
            log_prob: self.log_prob + f64::from(eos.log_prob),
            score: self.score(rank, self.ids.len() + 1, search),
            finished: true,
        }
    }

    /// Ends the sequence where it stands.
    pub(super) fn cut(self, search: &Search) -> Hypothesis {
        let score = self.score(self.rank, self.ids.len(), search);
        Hypothesis {
            ids: self.ids,
            token_log_probs: self.token_log_probs,
            log_prob: self.log_prob,
            score,
            finished: false,
        }
    }

    /// Ends a sequence that nothing can follow: NaN if that is the model's doing, which has just given
    /// `log_probs`, and else cut where it stands.
    pub(super) fn give_up(self, log_probs: &[f32], search: &Search) -> Hypothesis {
        let mut scored = (0..).zip(log_probs);
        let by_rule =
            scored.any(|(id, log_prob)| log_prob.is_finite() && !NEVER_GENERATED.contains(&id));
        let mut hypothesis = self.cut(search);
        if !by_rule {
            (hypothesis.log_prob, hypothesis.score) = (f64::NAN, f64::NAN);
        }
        hypothesis
    }

    fn score(&self, rank: f64, n_tokens: usize, search: &Search) -> f64 {
        let score = search.length_penalty.score(rank, n_tokens);
        if search.coverage_penalty == 0.0 {
            score
        } else {
            score + search.coverage_penalty * coverage(&self.attended)
        }
    }
}

fn with_room_for_one<T: Copy>(items: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(items.len() + 1);
    copy.extend_from_slice(items);
    copy
}
