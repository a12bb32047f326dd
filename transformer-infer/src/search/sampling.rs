//! Sampling: tokens drawn by their probability instead of searched for.

use serde::{Deserialize, Serialize};
use transformer_core::random::{SplitMix64, unit_interval};

use super::walk::{Choice, walk};
use super::{Hypothesis, NEVER_GENERATED, NextToken, Request, Search, SearchError};

/// Says how tokens are drawn. `Default` draws from the model's own distribution.
///
/// First the log-probabilities are divided by the temperature; then `top_k` leaves the likeliest tokens,
/// of which `top_p` leaves the likeliest; one of these is drawn, each by its share in their sum.
/// Processors such as a repetition penalty come before all this. Scores are those of the model, with none
/// of it.
///
/// What is drawn depends on the seed, the sentence's place in the input ([`Request::place`]), the number
/// of the sample and the number of tokens before, and on nothing else: so it is the same in any batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Divisor of the log-probabilities, above 0: below 1 likely tokens get likelier. Default 1.
    pub temperature: f64,
    /// Number of tokens that are left to draw from. Default: all.
    pub top_k: Option<usize>,
    /// As few tokens are left to draw from as have at least this share of the probability, above 0 and
    /// at most 1. Default 1: all. (Holtzman et al. 2020, §3.1, <https://arxiv.org/abs/1904.09751>)
    pub top_p: f64,
    /// Where the random numbers come from. Default 1.
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

/// Draws `search.n_best` samples (at least one) for each row, in the order in which they are drawn.
///
/// Samples may be equal. More of them change none of the first.
///
/// # Panics
///
/// Panics if the search is not [valid](Search::validate), if there is not one request for each row of the
/// model, or if a prefix has an id that is not in the vocabulary.
pub fn sample(
    model: &mut impl NextToken,
    requests: &[Request],
    search: &Search,
    sampling: &Sampling,
) -> Vec<Vec<Hypothesis>> {
    let n_samples = search.n_best.max(1);
    let as_asked = Search {
        n_best: n_samples,
        sampling: Some(*sampling),
        ..search.clone()
    };
    as_asked.assert_valid();
    let choice = Choice::Drawn(sampling, n_samples);
    let mut drawn = walk(model, requests, search, choice).into_iter();
    let of_row = |_: &Request| drawn.by_ref().take(n_samples).collect();
    requests.iter().map(of_row).collect()
}

impl Sampling {
    /// Checks that something can be drawn.
    pub(super) fn validate(&self) -> Result<(), SearchError> {
        let Self {
            temperature, top_p, ..
        } = *self;
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

    /// Draws a token of those that may be generated, if there is one; `at` names the draw.
    pub(super) fn draw(&self, ranks: &[f32], at: [u64; 3]) -> Option<u32> {
        let weights = self.weights(ranks);
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = uniform(self.seed, at) * total;
        let drawn = weights.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a trace behind the last.
        drawn.or(weights.first()).map(|(id, _)| *id)
    }

    /// Returns the tokens that are left to draw from, and their weights; the likeliest first where not
    /// all are left.
    fn weights(&self, ranks: &[f32]) -> Vec<(u32, f64)> {
        let ranked = (0_u32..).zip(ranks.iter().copied());
        let allowed = ranked.filter(|(id, rank)| rank.is_finite() && !NEVER_GENERATED.contains(id));
        let highest = allowed.clone().map(|(_, rank)| rank);
        let highest = highest.fold(f32::NEG_INFINITY, f32::max);
        let weight = |rank: f32| (f64::from(rank - highest) / self.temperature).exp();
        let mut weights: Vec<(u32, f64)> = allowed.map(|(id, rank)| (id, weight(rank))).collect();
        if self.top_k.is_none_or(|k| k >= weights.len()) && self.top_p == 1.0 {
            return weights;
        }
        let likelier = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Some(k) = self.top_k.filter(|k| *k < weights.len()) {
            // A few of a vocabulary are found much faster than all of it is sorted.
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

/// Returns a number of at least 0 and below 1, always the same for the same arguments.
fn uniform(seed: u64, at: [u64; 3]) -> f64 {
    unit_interval(at.into_iter().fold(mix(seed), |hash, n| mix(hash ^ n)))
}

/// Mixes bits: every bit of the input changes each bit of the output with probability 1/2.
pub(super) fn mix(bits: u64) -> u64 {
    SplitMix64::from_state(bits).nth(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-probabilities of the tokens from EOS on; they are 0.1, 0.2, 0.3 and 0.4.
    fn ranks() -> Vec<f32> {
        let probs = [0.1_f32, 0.2, 0.3, 0.4].map(f32::ln);
        [[-1e-9; 3].as_slice(), &probs].concat()
    }

    fn ids(sampling: Sampling) -> Vec<u32> {
        let weights = sampling.weights(&ranks());
        weights.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns how often each of the four tokens comes in 40000 draws, as a share.
    fn shares(sampling: Sampling) -> [f64; 4] {
        let mut shares = [0.0; 4];
        for place in 0..40_000 {
            let id = sampling.draw(&ranks(), [place, 0, 0]);
            shares[id.expect("all may be drawn") as usize - 3] += 1.0 / 40_000.0;
        }
        shares
    }

    /// Five standard deviations of a share of 1/2, the widest.
    const TOLERANCE: f64 = 5.0 * 0.0025;

    #[test]
    fn tokens_are_drawn_as_often_as_their_probability_says() {
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
    fn top_k_and_top_p_leave_the_likeliest() {
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
    fn of_equally_likely_tokens_top_k_leaves_those_of_the_lowest_ids() {
        // So many and so mixed that a search for the k likeliest has to move them about.
        let ranks: Vec<f32> = (0..1000_u32).map(|id| -((id * 7919 % 13) as f32)).collect();
        let mut sorted: Vec<u32> = (3..1000).collect();
        sorted.sort_by(|a, b| ranks[*b as usize].total_cmp(&ranks[*a as usize]));
        for k in [1, 2, 75, 76, 77, 500, 996] {
            let left = Sampling {
                top_k: Some(k),
                ..Sampling::default()
            };
            let left: Vec<u32> = left.weights(&ranks).iter().map(|(id, _)| *id).collect();
            assert_eq!(left, sorted[..k]);
        }
    }

    #[test]
    fn top_p_is_a_share_of_what_top_k_left() {
        let sampling = Sampling {
            top_k: Some(2),
            top_p: 0.57, // 0.4 of 0.7 is 0.571
            ..Sampling::default()
        };
        assert_eq!(ids(sampling), [6]);
    }

    #[test]
    fn extreme_temperatures_are_the_likeliest_token_and_all_alike() {
        let weights = |temperature| {
            let sampling = Sampling {
                temperature,
                ..Sampling::default()
            };
            sampling
                .weights(&ranks())
                .into_iter()
                .map(|(_, weight)| weight)
        };
        assert!(weights(f64::MIN_POSITIVE).eq([0.0, 0.0, 0.0, 1.0]));
        assert!(weights(f64::MAX).eq([1.0; 4]));
    }

    #[test]
    fn another_seed_place_sample_or_step_draws_another_number() {
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
    fn nothing_is_drawn_where_nothing_may_follow() {
        assert_eq!(Sampling::default().draw(&[f32::NAN; 6], [0; 3]), None);
    }
}
