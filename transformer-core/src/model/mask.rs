//! Which keys a query may see (§3.1, §3.2.3); `true` = hidden.

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use derive_new::new;

/// Hides keys from queries in one attention.
#[derive(Clone, Debug, new)]
pub(crate) struct Mask {
    /// `[batch or 1, 1, queries or 1, keys]`.
    hidden: Tensor<4, Bool>,
    /// Whether a row may hide all of its keys, so that its weights must be set to zero.
    may_hide_all: bool,
}

impl Mask {
    /// Hides padding: the same keys from every query of a row of the batch.
    pub(crate) fn padding(hidden: Tensor<2, Bool>, may_hide_all: bool) -> Self {
        let [batch, len] = hidden.dims();
        Self::new(hidden.reshape([batch, 1, 1, len]), may_hide_all)
    }

    /// Hides the future: query `i` stands at place `offset + i` and sees the keys up to that place.
    ///
    /// Returns `None` for a single query, which is the last place and sees everything.
    pub(crate) fn causal(offset: usize, n_queries: usize, device: &Device) -> Option<Self> {
        if n_queries <= 1 {
            return None;
        }
        let n_keys = offset + n_queries;
        let hidden: Vec<bool> = (0..n_queries)
            .flat_map(|query| (0..n_keys).map(move |key| key > offset + query))
            .collect();
        let data = TensorData::new(hidden, [1, 1, n_queries, n_keys]);
        Some(Self::new(Tensor::from_data(data, device), false))
    }

    /// Replaces the scores of hidden keys by a number whose exponential is zero beside any other.
    pub(crate) fn hide_scores(&self, scores: Tensor<4>) -> Tensor<4> {
        // Half precision ends at 65,504, and its exponential is zero far before −10⁴.
        let lowest = if scores.dtype() == DType::F16 {
            -1e4
        } else {
            -1e9
        };
        scores.mask_fill(self.hidden.clone(), lowest)
    }

    /// Sets the weights of a row that sees nothing to zero: the softmax of equal scores is uniform.
    pub(crate) fn hide_weights(&self, weights: Tensor<4>) -> Tensor<4> {
        if self.may_hide_all {
            weights.mask_fill(self.hidden.clone(), 0.0)
        } else {
            weights
        }
    }

    /// Keeps the given rows of the batch, in the given order.
    pub(crate) fn select(self, rows: Tensor<1, Int>) -> Self {
        Self::new(self.hidden.select(0, rows), self.may_hide_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    #[test]
    fn the_causal_mask_counts_from_the_offset() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let mask = Mask::causal(1, 2, &device).expect("two queries hide something");
        let hidden: Vec<bool> = mask.hidden.into_data().iter::<bool>().collect();
        assert_eq!(hidden, [false, false, true, false, false, false]);
    }

    #[test]
    fn one_query_at_the_end_sees_everything() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        assert!(Mask::causal(4, 1, &device).is_none());
    }
}
