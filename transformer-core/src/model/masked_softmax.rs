//! The effect of masks on scores and weights (§3.2.3).

use burn::tensor::{DType, Tensor, activation};

use super::mask::{Mask, lowest_finite};
use crate::cpu;

/// Normalizes scores to attention weights along the keys; hidden keys have weight 0.
///
/// The paper sets hidden scores to −∞. Here they get a large negative number, because the softmax of −∞ alone is NaN.
/// If all keys are hidden from a query, its weights are 0.
///
/// # Shapes
///
/// - `scores`: `[batch, n_heads, queries, keys]`
/// - returns: the shape of `scores`
pub(super) fn masked_softmax(scores: Tensor<4>, mask: Option<&Mask>) -> Tensor<4> {
    match mask {
        Some(mask) => mask.hide_weights(softmax(mask.hide_scores(scores))),
        None => softmax(scores),
    }
}

fn softmax(scores: Tensor<4>) -> Tensor<4> {
    cpu::softmax(&scores).unwrap_or_else(|| activation::softmax(scores, 3))
}

impl Mask {
    /// Adds the bias, and sets the scores of hidden keys so low that their exponentials are zero relative to all
    /// others.
    fn hide_scores(&self, scores: Tensor<4>) -> Tensor<4> {
        let dtype = scores.dtype();
        let lowest = lowest(dtype);
        match (&self.bias, &self.hidden) {
            (None, None) => scores,
            // An addition costs nothing in the backward pass; `mask_fill` is another pass over all scores.
            (None, Some(hidden)) => {
                let options = (&scores.device(), dtype);
                let lowering =
                    Tensor::zeros(hidden.dims(), options).mask_fill(hidden.clone(), lowest);
                scores + lowering
            }
            (Some(bias), hidden) => {
                let bias = match bias.dtype() == dtype {
                    true => bias.clone(),
                    false => {
                        let lowest = lowest_finite(dtype);
                        bias.clone().clamp(lowest, -lowest).cast(dtype)
                    }
                };
                // Scores of keys that are not hidden stay above those of hidden keys.
                let scores = (scores + bias).clamp_min(lowest / 2.0);
                match hidden {
                    // After the addition: the bias of another mask may be high where this one hides.
                    Some(hidden) => scores.mask_fill(hidden.clone(), lowest),
                    None => scores,
                }
            }
        }
    }

    /// Sets the weights of hidden keys to zero, if all scores of a query may be equally low.
    fn hide_weights(&self, weights: Tensor<4>) -> Tensor<4> {
        match &self.hidden {
            Some(hidden) if self.may_hide_all => weights.mask_fill(hidden.clone(), 0.0),
            _ => weights,
        }
    }
}

/// Returns a score so low that its exponential is zero relative to all others.
fn lowest(dtype: DType) -> f64 {
    // The lowest f16 is −65,504, and its exponential is zero far above −10⁴.
    if dtype == DType::F16 { -1e4 } else { -1e9 }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Bool, Device, FloatDType};

    use super::*;
    use crate::device;

    fn device() -> Device {
        device::choose(None)
            .expect("tests are built with a backend")
            .1
    }

    #[test]
    fn minus_infinity_hides_and_finite_biases_are_added() {
        let bias = Tensor::<4>::from_floats([[[[f32::NEG_INFINITY, -2.0, 0.5]]]], &device());
        let mask = Mask::additive(bias);
        let weights = mask.hide_weights(mask.hide_scores(Tensor::zeros([1, 1, 1, 3], &device())));
        let scores: Vec<f32> = weights.into_data().iter::<f32>().collect();
        assert_eq!(scores, [0.0, -2.0, 0.5]);
    }

    /// A bias that is finite in one element type does not become infinite in another, in any order of masks.
    #[test]
    fn a_bias_beyond_half_precision_makes_no_infinity() {
        // Not every backend has f16.
        let (_, device) = device::choose(Some("flex")).expect("tests have the default backend");
        let mask = |bias: f32, dtype: FloatDType| {
            let bias = Tensor::<4>::from_data([[[[bias, 0.0]]]], &device);
            Mask::additive(bias.cast(dtype))
        };
        let (large, small) = (mask(1e5, FloatDType::F32), mask(1.0, FloatDType::F16));
        for both in [large.clone().and(small.clone()), small.and(large.clone())] {
            let scores = both.hide_scores(Tensor::zeros([1, 1, 1, 2], (&device, DType::F32)));
            let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
            assert_eq!(scores, [100_001.0, 0.0]);
        }
        let scores = large.hide_scores(Tensor::zeros([1, 1, 1, 2], (&device, DType::F16)));
        let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
        assert_eq!(scores, [65_504.0, 0.0]);
    }

    #[test]
    fn a_hidden_key_stays_hidden_under_any_bias_of_another_mask() {
        let hidden = Tensor::<4, Bool>::from_data([[[[true, false]]]], &device());
        let bias = Tensor::<4>::from_floats([[[[3e9, 0.0]]]], &device());
        let mask = Mask::hidden(hidden).and(Mask::additive(bias));
        let scores = Tensor::zeros([1, 1, 1, 2], &device());
        let weights: Vec<f32> = masked_softmax(scores, Some(&mask))
            .into_data()
            .iter::<f32>()
            .collect();
        assert_eq!(weights, [0.0, 1.0]);
    }

    #[test]
    fn scores_that_overflow_make_weights_nan_unless_all_keys_are_hidden() {
        let hidden = [[[[false, false], [true, true]]]];
        let mask = Mask::hidden(Tensor::<4, Bool>::from_data(hidden, &device()));
        let scores = Tensor::full([1, 1, 2, 2], f32::NEG_INFINITY, &device());
        let weights: Vec<f32> = masked_softmax(scores, Some(&mask))
            .into_data()
            .iter::<f32>()
            .collect();
        assert!(weights[..2].iter().all(|weight| weight.is_nan()));
        assert_eq!(weights[2..], [0.0, 0.0]);
    }

    #[test]
    fn a_nan_score_makes_the_weights_of_its_query_and_head_nan() {
        for mask in [
            None,
            Some(Mask::additive(Tensor::zeros([1, 1, 1, 3], &device()))),
        ] {
            let scores = Tensor::<4>::zeros([2, 2, 2, 3], &device());
            let scores = scores.slice_fill([1..2, 0..1, 1..2, 2..3], f32::NAN);
            let weights = masked_softmax(scores, mask.as_ref()).into_data();
            let is_nan: Vec<bool> = weights.iter::<f32>().map(f32::is_nan).collect();
            // The second query of the first head of the second row.
            let expected: Vec<bool> = (0..24).map(|index| (15..18).contains(&index)).collect();
            assert_eq!(is_nan, expected);
        }
    }

    #[test]
    fn a_key_with_the_lowest_bias_still_weighs_more_than_a_hidden_one() {
        let bias = [f32::MIN, f32::MIN, f32::NEG_INFINITY];
        let mask = Mask::additive(Tensor::<4>::from_floats([[[bias]]], &device()));
        let weights = masked_softmax(Tensor::zeros([1, 1, 1, 3], &device()), Some(&mask));
        let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
        assert_eq!(weights, [0.5, 0.5, 0.0]);
    }
}
