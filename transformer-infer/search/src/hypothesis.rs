//! [`Hypothesis`]: one output of a search, and the prefixes that grow into it.

use transformer_text::{BOS, EOS};

use super::{NEVER_GENERATED, ScoredToken, Search};

/// A generated sequence with its log-probability and score.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The generated tokens, without BOS and EOS.
    pub ids: Vec<u32>,
    /// The log-probability of each generated token, in nats: one for each of `ids`, and one for EOS if the sequence is
    /// finished. Always the model's own, even if the search changes its scores.
    pub token_log_probs: Vec<f32>,
    /// Sum of the log-probabilities of all generated tokens, including EOS, in nats. NaN if the model returned no
    /// finite log-probability for any next token, that is, if it computes NaN.
    pub log_prob: f64,
    /// The value that hypotheses are ranked by: `log_prob` divided by the length penalty. A repetition penalty and
    /// [`AtLimit::FreeEnd`](super::AtLimit) change the sum before the division; a coverage penalty is added after it.
    pub score: f64,
    /// True if the sequence ended with EOS, chosen by the model or forced by [`AtLimit`](super::AtLimit). Otherwise it
    /// was cut at the length limit, and ranks after all finished ones unless it [competes](super::AtLimit::Compete).
    pub finished: bool,
    /// Number of the [phrases](super::Request::phrases) that the sequence contains without sharing tokens; at most the
    /// first [`Request::MOST_PHRASES`](super::Request::MOST_PHRASES) are counted.
    pub n_phrases_met: usize,
}

impl Step {
    /// Makes a step with its log-probability as the score.
    pub(super) fn new(id: u32, log_prob: f32) -> Self {
        Self {
            id,
            log_prob,
            score: log_prob,
        }
    }
}

impl From<ScoredToken> for Step {
    fn from(token: ScoredToken) -> Self {
        Self::new(token.id, token.log_prob)
    }
}

impl Hypothesis {
    /// Returns the finished hypothesis without tokens, which is the output for an empty source.
    pub fn empty() -> Self {
        Self {
            ids: Vec::new(),
            token_log_probs: Vec::new(),
            log_prob: 0.0,
            score: 0.0,
            finished: true,
            n_phrases_met: 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) id: u32,
    pub(super) log_prob: f32,
    /// The value that the search compares: the log-probability after all processors.
    pub(super) score: f32,
}

/// An unfinished sequence; the default is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    /// The tokens so far, without BOS.
    pub(super) ids: Vec<u32>,
    token_log_probs: Vec<f32>,
    log_prob: f64,
    pub(super) score_sum: f64,
    /// The total attention to each source token so far; empty without a coverage penalty.
    attended: Vec<f32>,
}

impl Prefix {
    /// Returns the decoder's next input: the last token, or BOS.
    pub(super) fn last_token(&self) -> u32 {
        self.ids.last().copied().unwrap_or(BOS)
    }

    pub(super) fn attend(&mut self, attention: &[f32]) {
        if self.attended.is_empty() {
            self.attended = attention.to_vec();
        } else {
            for (sum, weight) in self.attended.iter_mut().zip(attention) {
                *sum += weight;
            }
        }
    }

    pub(super) fn push(&mut self, step: Step) {
        debug_assert_ne!(step.id, EOS, "a prefix has no EOS; `finish` adds it");
        self.ids.push(step.id);
        self.token_log_probs.push(step.log_prob);
        self.log_prob += f64::from(step.log_prob);
        self.score_sum += f64::from(step.score);
    }

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

    pub(super) fn finish(&self, eos: Step, search: &Search) -> Hypothesis {
        let mut token_log_probs = with_room_for_one(&self.token_log_probs);
        token_log_probs.push(eos.log_prob);
        let score_sum = self.score_sum + f64::from(eos.score);
        Hypothesis {
            ids: self.ids.clone(),
            token_log_probs,
            log_prob: self.log_prob + f64::from(eos.log_prob),
            score: self.score(score_sum, self.ids.len() + 1, search),
            finished: true,
            n_phrases_met: 0,
        }
    }

    pub(super) fn cut(self, search: &Search) -> Hypothesis {
        let score = self.score(self.score_sum, self.ids.len(), search);
        Hypothesis {
            ids: self.ids,
            token_log_probs: self.token_log_probs,
            log_prob: self.log_prob,
            score,
            finished: false,
            n_phrases_met: 0,
        }
    }

    /// Ends a sequence after which no token is allowed. The result is NaN if `log_probs`, the model's last prediction,
    /// has no finite value. Otherwise the rules of the search forbid all tokens, and the sequence is cut.
    pub(super) fn give_up(self, log_probs: &[f32], search: &Search) -> Hypothesis {
        let mut predicted = (0..).zip(log_probs);
        let is_finite =
            predicted.any(|(id, log_prob)| log_prob.is_finite() && !NEVER_GENERATED.contains(&id));
        let mut hypothesis = self.cut(search);
        if !is_finite {
            (hypothesis.log_prob, hypothesis.score) = (f64::NAN, f64::NAN);
        }
        hypothesis
    }

    fn score(&self, score_sum: f64, n_tokens: usize, search: &Search) -> f64 {
        let score = search.length_penalty.score(score_sum, n_tokens);
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

/// Returns `Σᵢ ln(min(attendedᵢ, 1))`, where `attendedᵢ` is the total attention to source token `i`: 0 if every token
/// got at least 1, negative otherwise. No attention counts as the smallest normal `f32`, so that the sum is finite.
pub(super) fn coverage(attended: &[f32]) -> f64 {
    let term = |sum: &f32| f64::from(sum.clamp(f32::MIN_POSITIVE, 1.0)).ln();
    attended.iter().map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_above_one_counts_as_one() {
        assert_eq!(coverage(&[1.0, 2.5]), 0.0);
    }

    #[test]
    fn the_logarithms_of_a_quarter_and_a_half_are_added() {
        assert!((coverage(&[0.25, 0.5, 3.0]) - 0.125_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn coverage_without_attention_is_finite() {
        assert!(coverage(&[0.0]).is_finite());
    }

    #[test]
    fn a_model_that_reports_no_attention_is_not_penalized() {
        assert_eq!(coverage(&[]), 0.0);
    }
}
