//! [`KeyValues`]: projected keys and values, and the cache that they form during decoding.

use burn::tensor::{Int, Tensor};

use super::mask::Mask;
use super::recording::Recorder;
use crate::cpu::{self, AttentionInputs};

/// Minimum capacity, in tokens, of a cache that grows.
const MIN_CAPACITY: usize = 16;

/// The projected keys and values of one attention, in every head.
///
/// The tensors may have capacity for more tokens than they contain, so that a decoding step copies
/// only its own keys and values.
#[derive(Clone, Debug)]
pub struct KeyValues {
    /// `[batch, n_heads, capacity, d_k]`.
    keys: Tensor<4>,
    /// `[batch, n_heads, capacity, d_v]`.
    values: Tensor<4>,
    /// Number of tokens; the contents of the tensors after them are undefined.
    len: usize,
}

impl KeyValues {
    /// # Shapes
    ///
    /// - `keys`: `[batch, n_heads, len, d_k]`
    /// - `values`: `[batch, n_heads, len, d_v]`
    pub(super) fn new(keys: Tensor<4>, values: Tensor<4>) -> Self {
        let [_, _, len, _] = keys.dims();
        Self { keys, values, len }
    }

    /// Returns the number of tokens.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the keys and values of later tokens.
    pub(super) fn append(self, later: Self) -> Self {
        let len = self.len + later.len;
        let [_, _, capacity, _] = self.keys.dims();
        if len <= capacity {
            return self.write(later);
        }
        // The capacity doubles, so that each token is copied at most once on average.
        let capacity = (2 * self.len).max(len).max(MIN_CAPACITY);
        later.empty(capacity).write(self).write(later)
    }

    /// Creates a cache of the same shape with this capacity and no tokens.
    fn empty(&self, capacity: usize) -> Self {
        let empty = |like: &Tensor<4>| {
            let [batch, n_heads, _, d] = like.dims();
            let options = (&like.device(), like.dtype());
            Tensor::empty([batch, n_heads, capacity, d], options)
        };
        Self {
            keys: empty(&self.keys),
            values: empty(&self.values),
            len: 0,
        }
    }

    /// Writes later tokens after the existing ones, in place unless the tensors are shared.
    fn write(self, later: Self) -> Self {
        let (start, end) = (self.len, self.len + later.len);
        let write = |cache: Tensor<4>, later: Tensor<4>| {
            let [batch, n_heads, _, d] = later.dims();
            cache.slice_assign([0..batch, 0..n_heads, start..end, 0..d], later)
        };
        let (keys, values) = later.into_tensors();
        Self {
            keys: write(self.keys, keys),
            values: write(self.values, values),
            len: end,
        }
    }

    /// Returns the keys and values of the tokens, without unused capacity.
    pub(super) fn into_tensors(self) -> (Tensor<4>, Tensor<4>) {
        let Self { keys, values, len } = self;
        let in_use = |tensor: Tensor<4>| {
            // A view of everything would be one more step in the backward pass.
            match tensor.dims()[2] == len {
                true => tensor,
                false => tensor.narrow(2, 0, len),
            }
        };
        (in_use(keys), in_use(values))
    }

    /// Makes the tensors contiguous where that pays for inference, which reads them at every step.
    pub(super) fn contiguous(self) -> Self {
        Self {
            keys: cpu::contiguous_for_inference(self.keys),
            values: cpu::contiguous_for_inference(self.values),
            ..self
        }
    }

    /// Computes Eq. 1 and concatenates the heads in one kernel; `None` if there is no such kernel.
    ///
    /// # Shapes
    ///
    /// - `queries`: `[batch, len, n_heads * d_k]`
    /// - returns: `[batch, len, n_heads * d_v]`
    pub(super) fn attend_fused(
        &self,
        queries: &Tensor<3>,
        mask: Option<&Mask>,
        recorder: &mut Recorder,
    ) -> Option<Tensor<3>> {
        let (heads, weights) = cpu::attention(AttentionInputs {
            queries,
            keys: &self.keys,
            values: &self.values,
            n_keys: self.len,
            mask: mask.map(Mask::score_mask),
            with_weights: recorder.is_on(),
        })?;
        if let Some(weights) = weights {
            recorder.record(&weights);
        }
        Some(heads)
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
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::super::masked_softmax::masked_softmax;
    use super::*;
    use crate::device;

    /// Rounding of sums of a few `f32` of about 1.
    const TOLERANCE: f32 = 1e-5;

    fn test_device() -> Device {
        let requested = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
        device
    }

    /// Values from −2 to 2, different ones for each factor.
    fn values<const D: usize>(shape: [usize; D], factor: usize) -> Tensor<D> {
        let value = |index: usize| ((index * factor) % 401) as f32 / 100.0 - 2.0;
        let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
        Tensor::from_data(TensorData::new(values, shape), &test_device())
    }

    fn elements<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    fn assert_close<const D: usize>(found: Tensor<D>, expected: Tensor<D>) {
        assert_eq!(found.dims(), expected.dims());
        let (found, expected) = (elements(found), elements(expected));
        let is_close = |(a, b): (&f32, &f32)| (a - b).abs() < TOLERANCE;
        assert!(found.iter().zip(&expected).all(is_close));
    }

    /// Returns three masks: one hides some keys, and all keys of one query; one adds a bias, below the lowest score in
    /// one place; one does both.
    fn masks(len: usize, n_keys: usize) -> [Mask; 3] {
        let device = test_device();
        let is_hidden = |index: usize| index < n_keys || index.is_multiple_of(3);
        let hidden: Vec<bool> = (0..2 * len * n_keys).map(is_hidden).collect();
        let hidden = TensorData::new(hidden, [2, 1, len, n_keys]);
        let hidden = Mask::hidden(Tensor::from_data(hidden, &device));
        let mut bias: Vec<f32> = (0..3 * n_keys).map(|index| index as f32 / 8.0).collect();
        bias[4] = -1e9;
        let bias = TensorData::new(bias, [1, 3, 1, n_keys]);
        let bias = Mask::additive(Tensor::from_data(bias, &device));
        [hidden.clone(), bias.clone(), hidden.and(bias)]
    }

    #[test]
    fn the_fused_kernel_gives_every_mask_the_meaning_of_the_masked_softmax() {
        let (len, n_keys, d_k, d_v) = (3, 7, 5, 6);
        for mask in masks(len, n_keys) {
            let queries = values([2, len, 3 * d_k], 7);
            let keys = values([2, 3, n_keys, d_k], 11);
            let memory = KeyValues::new(keys.clone(), values([2, 3, n_keys, d_v], 13));
            let mut recorder = Recorder::all_layers();
            let Some(heads) = memory.attend_fused(&queries, Some(&mask), &mut recorder) else {
                assert!(!device::is_cpu_memory(&test_device()));
                return;
            };
            let queries = queries.reshape([2, len, 3, d_k]).swap_dims(1, 2);
            let scores = queries.matmul(keys.transpose()) * (d_k as f64).powf(-0.5);
            let expected = masked_softmax(scores, Some(&mask));
            let weights = recorder.into_weights().pop().expect("the recorder is on");
            assert_close(weights, expected.clone());
            let expected = expected.matmul(memory.into_tensors().1).swap_dims(1, 2);
            assert_close(heads, expected.reshape([2, len, 3 * d_v]));
        }
    }

    #[test]
    fn appending_in_any_pieces_gives_the_same_tokens() {
        let (keys, stored) = (values([2, 3, 40, 4], 7), values([2, 3, 40, 5], 11));
        let piece = |start: usize, len: usize| {
            let [keys, stored] = [&keys, &stored].map(|it| it.clone().narrow(2, start, len));
            KeyValues::new(keys, stored)
        };
        let pieces = [piece(1, 1), piece(2, 20), piece(22, 18)];
        let cache = pieces.into_iter().fold(piece(0, 1), KeyValues::append);
        assert_eq!(cache.len(), 40);
        let (found_keys, found_values) = cache.into_tensors();
        assert_eq!(elements(found_keys), elements(keys));
        assert_eq!(elements(found_values), elements(stored));
    }
}
