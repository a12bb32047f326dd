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
    pub(super) fn len(&self) -> usize {
        self.keys.dims()[2]
    }

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

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::device;

    /// Returns a different value in each place, of a batch of 2 in 3 heads.
    fn values(len: usize, d: usize) -> Tensor<4> {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let values: Vec<f32> = (0..2 * 3 * len * d).map(|index| index as f32).collect();
        Tensor::from_data(TensorData::new(values, [2, 3, len, d]), &device)
    }

    #[test]
    fn appending_in_any_pieces_gives_the_same_tokens() {
        let (keys, stored) = (values(40, 4), values(40, 5));
        let piece = |start: usize, len: usize| KeyValues {
            keys: keys.clone().narrow(2, start, len),
            values: stored.clone().narrow(2, start, len),
        };
        let pieces = [piece(1, 1), piece(2, 20), piece(22, 18)];
        let cache = pieces.into_iter().fold(piece(0, 1), KeyValues::append);
        assert_eq!(cache.len(), 40);
        assert_eq!(cache.keys.into_data(), keys.into_data());
        assert_eq!(cache.values.into_data(), stored.into_data());
    }
}
