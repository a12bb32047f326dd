//! [`KeyValues`]: projected keys and values, and the cache that they form during decoding.

use burn::tensor::{Int, Tensor};

use crate::cpu;

/// The projected keys and values of one attention, in every head.
#[derive(Clone, Debug)]
pub struct KeyValues {
    /// `[batch, n_heads, len, d_k]`.
    pub(super) keys: Tensor<4>,
    /// `[batch, n_heads, len, d_v]`.
    pub(super) values: Tensor<4>,
}

impl KeyValues {
    /// Returns the number of tokens.
    pub(super) fn len(&self) -> usize {
        self.keys.dims()[2]
    }

    /// Appends the keys and values of later tokens.
    pub(super) fn append(self, later: Self) -> Self {
        Self {
            keys: Tensor::cat(vec![self.keys, later.keys], 2),
            values: Tensor::cat(vec![self.values, later.values], 2),
        }
    }

    /// Makes the tensors contiguous where that pays for inference, which reads them at every step.
    pub(super) fn contiguous(self) -> Self {
        Self {
            keys: cpu::contiguous_for_inference(self.keys),
            values: cpu::contiguous_for_inference(self.values),
        }
    }

    /// Selects rows of the batch, in the given order.
    ///
    /// # Shapes
    ///
    /// - `rows`: `[new_batch]`
    #[must_use]
    pub fn select(self, rows: Tensor<1, Int>) -> Self {
        Self {
            keys: self.keys.select(0, rows.clone()),
            values: self.values.select(0, rows),
        }
    }
}
