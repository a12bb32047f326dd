//! [`Sequences`]: greedy search and sampling, in which every sequence grows independently of the others; and [`Sampling`]:
//! the settings for drawing tokens by their probability.

use serde::{Deserialize, Serialize};
use transformer_text::EOS;
use transformer_text::random::{SplitMix64, unit_interval};

use super::hypothesis::{Prefix, Step};
use super::next_token::best_of_row;
use super::processors::{Predicted, Prediction};
use super::{Hypothesis, NEVER_GENERATED, Request, ScoredToken, Search, SearchError};

/// The settings of sampling. `Default` draws from the model's own distribution.
///
/// The log-probabilities are divided by the temperature, `top_k` keeps the likeliest tokens, `top_p` keeps the
/// likeliest of these, and one of them is drawn in proportion to its probability. Processors such as a repetition
/// penalty are applied before. The reported scores are the model's, without all of this.
///
/// A draw depends only on the seed, the index of the sentence in the input ([`Request::index`](super::Request)), the
/// number of the sample and the number of previous tokens, so it is the same in any batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Divisor of the log-probabilities, above 0: values below 1 make likely tokens likelier. Default 1.
    pub temperature: f64,
    /// Number of likeliest tokens to draw from. Default: all.
    pub top_k: Option<usize>,
    /// Draws from the smallest set of likeliest tokens with a total probability of at least this share, above 0 and at
    /// most 1. Default 1: all. (Holtzman et al. 2020, §3.1, <https://arxiv.org/abs/1904.09751>)
    pub top_p: f64,
    /// Seed of the random numbers. Default 1.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            seed: 1,
        }
    }
}

impl Sampling {
    pub(super) fn validate(&self) -> Result<(), SearchError> {
        let (temperature, top_p) = (self.temperature, self.top_p);
        if !(temperature.is_finite() && temperature > 0.0) {
            return Err(SearchError::Temperature { temperature });
        }
        if self.top_k == Some(0) {
            return Err(SearchError::NoTopK);
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(SearchError::TopP { top_p });
        }
        Ok(())
    }

    /// Draws an allowed token, if any. `draw` identifies the draw: the indices of sentence, sample and step.
    pub(super) fn draw(&self, scores: &[f32], draw: [u64; 3]) -> Option<u32> {
        let weights = self.weights(scores);
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = uniform(self.seed, draw) * total;
        let drawn = weights.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a remainder after the last token.
        drawn.or(weights.first()).map(|(id, _)| *id)
    }

    /// Returns the tokens to draw from and their weights; the likeliest first if some are left out.
    fn weights(&self, scores: &[f32]) -> Vec<(u32, f64)> {
        let scored = (0_u32..).zip(scores.iter().copied());
        let allowed =
            scored.filter(|(id, score)| score.is_finite() && !NEVER_GENERATED.contains(id));
        let highest = allowed.clone().map(|(_, score)| score);
        let highest = highest.fold(f32::NEG_INFINITY, f32::max);
        let weight = |score: f32| (f64::from(score - highest) / self.temperature).exp();
        let mut weights: Vec<(u32, f64)> = allowed.map(|(id, score)| (id, weight(score))).collect();
        if self.top_k.is_none_or(|k| k >= weights.len()) && self.top_p == 1.0 {
            return weights;
        }
        let likelier = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Some(k) = self.top_k.filter(|k| *k < weights.len()) {
            // Selecting k tokens is much faster than sorting the vocabulary.
            weights.select_nth_unstable_by(k, likelier);
            weights.truncate(k);
        }
        weights.sort_unstable_by(likelier);
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let enough = weights.iter().position(|(_, weight)| {
            sum += weight;
            sum >= self.top_p * total
        });
        weights.truncate(enough.map_or(weights.len(), |last| last + 1));
        weights
    }
}

/// Returns a pseudorandom number in `[0, 1)`, a pure function of its arguments.
fn uniform(seed: u64, draw: [u64; 3]) -> f64 {
    unit_interval(draw.into_iter().fold(mix(seed), |hash, n| mix(hash ^ n)))
}

/// Mixes bits: every bit of the input changes each bit of the output with probability 1/2.
pub(super) fn mix(bits: u64) -> u64 {
    SplitMix64::from_state(bits).nth(0)
}

/// The sequences of one sentence: the samples, or the one that greedy search finds.
#[derive(Debug)]
pub(super) struct Sequences {
    pub(super) request: Request,
    /// The unfinished sequences: one for each row of the model.
    pub(super) prefixes: Vec<Prefix>,
    /// For each of them, the number of the sample, from 0.
    samples: Vec<usize>,
    found: Vec<Option<Hypothesis>>,
}

impl Sequences {
    pub(super) fn new(request: Request, n_samples: usize) -> Self {
        Self {
            request,
            prefixes: vec![Prefix::default(); n_samples],
            samples: (0..n_samples).collect(),
            found: vec![None; n_samples],
        }
    }

    /// Returns the tokens of the sequence; `None` if there are several.
    pub(super) fn only(&self) -> Option<&[u32]> {
        match (self.prefixes.as_slice(), self.found.len()) {
            ([prefix], 1) => Some(&prefix.ids),
            _ => None,
        }
    }

    /// Appends one token to all sequences, the rows of the model from `first_row` on; the likeliest one without `sampling`.
    /// Returns the former index of each unfinished one.
    pub(super) fn advance(
        &mut self,
        predicted: &Predicted,
        first_row: usize,
        search: &Search,
        sampling: Option<&Sampling>,
    ) -> Vec<usize> {
        let mut parents = Vec::with_capacity(self.prefixes.len());
        for index in 0..self.prefixes.len() {
            let mut sequence = Sequence {
                sample: self.samples[index],
                request: &self.request,
                prefix: &mut self.prefixes[index],
            };
            let row = first_row + index;
            let ended = match predicted {
                Predicted::All(prediction) => sequence.choose(prediction, row, search, sampling),
                Predicted::TopK(_) => {
                    let likeliest = predicted.likeliest(row).first().copied();
                    sequence.follow(likeliest.unwrap_or(ScoredToken::NONE.into()), search)
                }
            };
            match ended {
                Some(hypothesis) => self.found[self.samples[index]] = Some(hypothesis),
                None => parents.push(index),
            }
        }
        if parents.len() < self.prefixes.len() {
            let mut is_left = (0..self.prefixes.len()).map(|index| parents.contains(&index));
            self.prefixes.retain(|_| is_left.next().unwrap_or(true));
            self.samples = parents.iter().map(|index| self.samples[*index]).collect();
        }
        parents
    }

    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        self.found.into_iter().flatten().collect()
    }
}

struct Sequence<'a> {
    sample: usize,
    request: &'a Request,
    prefix: &'a mut Prefix,
}

impl Sequence<'_> {
    /// Appends the likeliest token; returns the hypothesis if the sequence ends.
    fn follow(&mut self, best: Step, search: &Search) -> Option<Hypothesis> {
        if !best.log_prob.is_finite() {
            return Some(self.prefix.clone().give_up(&[], search));
        }
        self.grow(best, search)
    }

    /// Chooses a token from the prediction and appends it; returns the hypothesis if the sequence ends.
    fn choose(
        &mut self,
        prediction: &Prediction,
        row: usize,
        search: &Search,
        sampling: Option<&Sampling>,
    ) -> Option<Hypothesis> {
        if let Some(attention) = prediction.attention(row) {
            self.prefix.attend(attention);
        }
        let (log_probs, scores) = (prediction.log_probs(row), prediction.scores(row));
        let unchanged = |id: u32| Step::new(id, log_probs[id as usize]);
        let forced = self.request.forced(self.prefix.ids.len(), log_probs);
        let step = match (forced, sampling) {
            (Some(step), _) => Some(step),
            (None, None) => {
                let best = best_of_row(scores);
                let score = best.log_prob;
                let step = || Step {
                    score,
                    ..unchanged(best.id)
                };
                score.is_finite().then(step)
            }
            (None, Some(sampling)) => {
                let (index, step) = (self.request.index, self.prefix.ids.len());
                let draw = [index, self.sample as u64, step as u64];
                sampling.draw(scores, draw).map(unchanged)
            }
        };
        match step {
            Some(step) => self.grow(step, search),
            None => Some(self.prefix.clone().give_up(log_probs, search)),
        }
    }

    fn grow(&mut self, step: Step, search: &Search) -> Option<Hypothesis> {
        if step.id == EOS {
            return Some(self.prefix.finish(step, search));
        }
        self.prefix.push(step);
        let is_full = self.prefix.ids.len() == self.request.max_len;
        is_full.then(|| self.prefix.clone().cut(search))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-probabilities; the probabilities of the tokens from EOS on are 0.1, 0.2, 0.3 and 0.4.
    fn scores() -> Vec<f32> {
        let probs = [0.1_f32, 0.2, 0.3, 0.4].map(f32::ln);
        [[-1e-9; 3].as_slice(), &probs].concat()
    }

    fn ids(sampling: Sampling) -> Vec<u32> {
        let weights = sampling.weights(&scores());
        weights.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the share of each of the four tokens in 40000 draws.
    fn shares(sampling: Sampling) -> [f64; 4] {
        let mut shares = [0.0; 4];
        for index in 0..40_000 {
            let id = sampling.draw(&scores(), [index, 0, 0]);
            shares[id.expect("all are allowed") as usize - 3] += 1.0 / 40_000.0;
        }
        shares
    }

    /// Five standard deviations of a share of 1/2, the widest.
    const TOLERANCE: f64 = 5.0 * 0.0025;

    #[test]
    fn tokens_are_drawn_in_proportion_to_their_probability() {
        let shares = shares(Sampling::default());
        for (share, expected) in shares.iter().zip([0.1, 0.2, 0.3, 0.4]) {
            assert!((share - expected).abs() < TOLERANCE, "{shares:?}");
        }
    }

    #[test]
    fn a_temperature_of_one_half_squares_the_probabilities() {
        let shares = shares(Sampling {
            temperature: 0.5,
            ..Sampling::default()
        });
        for (share, expected) in shares.iter().zip([1.0, 4.0, 9.0, 16.0]) {
            assert!((share - expected / 30.0).abs() < TOLERANCE, "{shares:?}");
        }
    }

    #[test]
    fn top_k_and_top_p_keep_the_likeliest() {
        let top_k = |k| Sampling {
            top_k: Some(k),
            ..Sampling::default()
        };
        assert_eq!(ids(top_k(1)), [6]);
        assert_eq!(ids(top_k(3)), [6, 5, 4]);
        assert_eq!(ids(top_k(usize::MAX)), [3, 4, 5, 6]);
        let top_p = |top_p| Sampling {
            top_p,
            ..Sampling::default()
        };
        assert_eq!(ids(top_p(f64::MIN_POSITIVE)), [6]);
        assert_eq!(ids(top_p(0.39)), [6]);
        assert_eq!(ids(top_p(0.41)), [6, 5]);
        assert_eq!(ids(top_p(0.91)), [6, 5, 4, 3]);
    }

    #[test]
    fn top_k_keeps_the_lowest_ids_among_equally_likely_tokens() {
        // Many and unordered, so that the selection has to move them.
        let scores: Vec<f32> = (0..1000_u32).map(|id| -((id * 7919 % 13) as f32)).collect();
        let mut sorted: Vec<u32> = (3..1000).collect();
        sorted.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        for k in [1, 2, 75, 76, 77, 500, 996] {
            let left = Sampling {
                top_k: Some(k),
                ..Sampling::default()
            };
            let left: Vec<u32> = left.weights(&scores).iter().map(|(id, _)| *id).collect();
            assert_eq!(left, sorted[..k]);
        }
    }

    #[test]
    fn top_p_is_a_share_of_the_tokens_that_top_k_keeps() {
        let sampling = Sampling {
            top_k: Some(2),
            top_p: 0.57, // 0.4 of 0.7 is 0.571
            ..Sampling::default()
        };
        assert_eq!(ids(sampling), [6]);
    }

    #[test]
    fn a_tiny_temperature_leaves_one_token_and_a_huge_one_makes_all_alike() {
        let weights = |temperature| {
            let sampling = Sampling {
                temperature,
                ..Sampling::default()
            };
            sampling
                .weights(&scores())
                .into_iter()
                .map(|(_, weight)| weight)
        };
        assert!(weights(f64::MIN_POSITIVE).eq([0.0, 0.0, 0.0, 1.0]));
        assert!(weights(f64::MAX).eq([1.0; 4]));
    }

    #[test]
    fn another_seed_sentence_sample_or_step_draws_another_number() {
        let drawn = [
            uniform(1, [5, 6, 7]),
            uniform(2, [5, 6, 7]),
            uniform(1, [6, 6, 7]),
            uniform(1, [5, 7, 7]),
            uniform(1, [5, 6, 8]),
            uniform(1, [6, 5, 7]),
        ];
        for (index, number) in drawn.iter().enumerate() {
            assert!((0.0..1.0).contains(number) && !drawn[..index].contains(number));
        }
    }

    #[test]
    fn nothing_is_drawn_if_no_token_is_allowed() {
        assert_eq!(Sampling::default().draw(&[f32::NAN; 6], [0; 3]), None);
    }
}
