//! Scaled dot-product attention of few queries, without autodiff: a decoding step.

use burn::backend::DispatchTensor;
use burn::tensor::{Bool, DType, Shape, Tensor, TensorData};
use pulp::NullaryFnOnce;
use rayon::prelude::*;

use super::autodiff::{primitive, run};
use super::instruction_set::instruction_set;
use super::vector::{exp, max_and_sum, sum};
use crate::device::{CpuBackend, CpuOp, DispatchTo};

/// Maximum number of queries per row of the batch: for more, matrix products are faster than dot products.
const MAX_QUERIES: usize = 16;

/// Exponents below this count as `exp(−∞)`: such an `f32` is negligible beside 1.
const MIN_EXPONENT: f32 = -87.0;

/// Multiplications for each thread, at least.
const PRODUCTS_PER_THREAD: usize = 1 << 16;

/// The inputs of [`attention`].
pub(crate) struct AttentionInputs<'a> {
    /// `[batch, len, n_heads * d_k]`.
    pub(crate) queries: &'a Tensor<3>,
    /// `[batch, n_heads, capacity, d_k]`.
    pub(crate) keys: &'a Tensor<4>,
    /// `[batch, n_heads, capacity, d_v]`.
    pub(crate) values: &'a Tensor<4>,
    /// Number of keys and values in use; those after them are not read.
    pub(crate) n_keys: usize,
    /// The term added to the scores, and the hidden keys.
    pub(crate) mask: Option<ScoreMask>,
    /// True if the weights are returned too.
    pub(crate) with_weights: bool,
}

/// A mask as tensors: a bias turns a score into `max(score + bias, min_score)`, and hidden keys have
/// weight 0.
///
/// The axes of both tensors are `[batch or 1, n_heads or 1, queries or 1, keys or 1]`.
pub(crate) struct ScoreMask {
    /// `true` where a key is hidden from a query.
    pub(crate) hidden: Option<Tensor<4, Bool>>,
    /// Added to the scores.
    pub(crate) bias: Option<Tensor<4>>,
    /// Lower bound of biased scores, so that no bias hides a key.
    pub(crate) min_score: f32,
}

/// Computes `softmax(QKᵀ/√d_k)·V` in every head (Eq. 1), and concatenates the heads.
///
/// Returns `None` if the caller has to fall back to Burn.
///
/// A query with all keys hidden has zero weights and a zero output.
///
/// # Shapes
///
/// - returns: `[batch, len, n_heads * d_v]`, and `[batch, n_heads, len, n_keys]` if the weights are
///   requested
///
/// # Panics
///
/// Panics if the shapes do not match.
pub(crate) fn attention(inputs: AttentionInputs<'_>) -> Option<(Tensor<3>, Option<Tensor<4>>)> {
    let queries = inputs.queries;
    let [_, len, _] = queries.dims();
    if len > MAX_QUERIES || inputs.n_keys == 0 || queries.device().is_autodiff() {
        return None;
    }
    let (hidden, bias, min_score) = match inputs.mask {
        Some(mask) => (mask.hidden, mask.bias, mask.min_score),
        None => (None, None, f32::NEG_INFINITY),
    };
    let is_unsupported =
        |bias: &Tensor<4>| bias.dtype() != DType::F32 || bias.device().is_autodiff();
    if bias.as_ref().is_some_and(is_unsupported) {
        return None;
    }
    run(queries, || Attention {
        queries: queries.clone(),
        keys: inputs.keys.clone(),
        values: inputs.values.clone(),
        n_keys: inputs.n_keys,
        hidden: hidden.map(|hidden| Broadcast {
            shape: hidden.dims(),
            elements: hidden.into_data().iter::<bool>().collect(),
        }),
        bias: bias.map(|bias| Broadcast {
            shape: bias.dims(),
            elements: bias.into_data().iter::<f32>().collect(),
        }),
        min_score,
        with_weights: inputs.with_weights,
    })
}

struct Attention {
    queries: Tensor<3>,
    keys: Tensor<4>,
    values: Tensor<4>,
    n_keys: usize,
    hidden: Option<Broadcast<bool>>,
    bias: Option<Broadcast<f32>>,
    min_score: f32,
    with_weights: bool,
}

/// A tensor that is broadcast to the shape of the scores.
struct Broadcast<T> {
    elements: Vec<T>,
    /// `[batch or 1, n_heads or 1, queries or 1, keys or 1]`.
    shape: [usize; 4],
}

impl<T: Copy> Broadcast<T> {
    /// Returns the elements of all keys for one row of the batch, head and query.
    #[inline(always)]
    fn row(&self, index: [usize; 3]) -> BroadcastRow<'_, T> {
        let [batch, n_heads, n_queries, n_keys] = self.shape;
        let axes = index.into_iter().zip([batch, n_heads, n_queries]);
        let row = axes.fold(0, |row, (index, size)| {
            row * size + if size == 1 { 0 } else { index }
        });
        BroadcastRow(&self.elements[row * n_keys..][..n_keys])
    }
}

/// One element for each key, or one for all of them.
struct BroadcastRow<'a, T>(&'a [T]);

impl<T: Copy> BroadcastRow<'_, T> {
    #[inline(always)]
    fn at(&self, key: usize) -> T {
        match self.0 {
            [element] => *element,
            elements => elements[key],
        }
    }
}

impl CpuOp for Attention {
    type Output = Option<(Tensor<3>, Option<Tensor<4>>)>;

    fn run<B: CpuBackend>(self) -> Self::Output
    where
        DispatchTensor: DispatchTo<B>,
    {
        let device = self.queries.device();
        let sizes = self.sizes();
        let queries = primitive::<B, 3>(self.queries)?;
        let keys = primitive::<B, 4>(self.keys)?;
        let values = primitive::<B, 4>(self.values)?;
        let (queries, keys, values) = (B::values(&queries), B::values(&keys), B::values(&values));
        let heads = Heads {
            sizes: &sizes,
            queries: &queries,
            keys: &keys,
            values: &values,
            hidden: self.hidden.as_ref(),
            bias: self.bias.as_ref(),
            min_score: self.min_score,
        };
        let Sizes {
            batch,
            n_heads,
            len,
            n_keys,
            d_v,
            ..
        } = sizes;
        let mut weights = vec![0.0; batch * n_heads * len * n_keys];
        let output = B::create(Shape::from([batch, len, n_heads * d_v]), |output| {
            if len == 1 {
                // [batch, n_heads, 1, d_v] and [batch, 1, n_heads * d_v] have the same elements in
                // the same order.
                return heads.attend(output, &mut weights);
            }
            let mut by_head = vec![0.0; output.len()];
            heads.attend(&mut by_head, &mut weights);
            for (index, output) in output.chunks_mut(d_v).enumerate() {
                let (query, head) = (index / n_heads, index % n_heads);
                let row = (query / len * n_heads + head) * len + query % len;
                output.copy_from_slice(&by_head[row * d_v..][..d_v]);
            }
        });
        let weights = self.with_weights.then(|| {
            let weights = TensorData::new(weights, [batch, n_heads, len, n_keys]);
            Tensor::from_data(weights, (&device, DType::F32))
        });
        Some((Tensor::from_primitive::<B>(output), weights))
    }
}

impl Attention {
    fn sizes(&self) -> Sizes {
        let [batch, len, width] = self.queries.dims();
        let [key_batch, n_heads, capacity, d_k] = self.keys.dims();
        let [_, _, _, d_v] = self.values.dims();
        assert_eq!(
            key_batch, batch,
            "queries and keys have the same batch size"
        );
        assert_eq!(width, n_heads * d_k, "queries are as wide as keys");
        assert!(self.n_keys <= capacity, "the keys are within the capacity");
        assert_eq!(
            self.values.dims(),
            [batch, n_heads, capacity, d_v],
            "each key has a value"
        );
        Sizes {
            batch,
            n_heads,
            len,
            n_keys: self.n_keys,
            capacity,
            d_k,
            d_v,
        }
    }
}

struct Sizes {
    batch: usize,
    n_heads: usize,
    /// Queries per row of the batch.
    len: usize,
    n_keys: usize,
    /// Keys that the tensors have memory for.
    capacity: usize,
    d_k: usize,
    d_v: usize,
}

/// The elements of all inputs.
struct Heads<'a> {
    sizes: &'a Sizes,
    queries: &'a [f32],
    keys: &'a [f32],
    values: &'a [f32],
    hidden: Option<&'a Broadcast<bool>>,
    bias: Option<&'a Broadcast<f32>>,
    min_score: f32,
}

impl Heads<'_> {
    /// Writes outputs and weights of all heads.
    ///
    /// # Shapes
    ///
    /// - `output`: `[batch, n_heads, len, d_v]`
    /// - `weights`: `[batch, n_heads, len, n_keys]`
    fn attend(&self, output: &mut [f32], weights: &mut [f32]) {
        let arch = instruction_set();
        let Sizes {
            len,
            n_keys,
            d_k,
            d_v,
            ..
        } = *self.sizes;
        let products_per_head = len * n_keys * (d_k + d_v);
        output
            .par_chunks_mut(len * d_v)
            .zip(weights.par_chunks_mut(len * n_keys))
            .with_min_len(PRODUCTS_PER_THREAD.div_ceil(products_per_head))
            .enumerate()
            .for_each(|(index, (output, weights))| {
                arch.dispatch(AttendInHead {
                    heads: self,
                    index,
                    output,
                    weights,
                });
            });
    }

    /// Writes output and weights of one head; `index` counts the heads of all rows.
    #[inline(always)]
    fn attend_in_head(&self, index: usize, output: &mut [f32], weights: &mut [f32]) {
        let Sizes {
            n_heads,
            len,
            n_keys,
            capacity,
            d_k,
            d_v,
            ..
        } = *self.sizes;
        let (row, head) = (index / n_heads, index % n_heads);
        let keys = &self.keys[index * capacity * d_k..][..n_keys * d_k];
        let values = &self.values[index * capacity * d_v..][..n_keys * d_v];
        let scale = (d_k as f32).sqrt().recip();
        let queries = weights
            .chunks_exact_mut(n_keys)
            .zip(output.chunks_exact_mut(d_v));
        for (position, (weights, output)) in queries.enumerate() {
            let query = &self.queries[((row * len + position) * n_heads + head) * d_k..][..d_k];
            for (score, key) in weights.iter_mut().zip(keys.chunks_exact(d_k)) {
                *score = sum([query, key], |[q, k]| q * k) * scale;
            }
            let all_hidden = self.mask_scores(weights, [row, head, position]);
            softmax(weights);
            if all_hidden {
                weights.fill(0.0);
            }
            for (weight, value) in weights.iter().zip(values.chunks_exact(d_v)) {
                for (output, value) in output.iter_mut().zip(value) {
                    *output += weight * value;
                }
            }
        }
    }

    /// Masks the scores of one query by the rules of [`ScoreMask`]; returns whether all keys are hidden.
    #[inline(always)]
    fn mask_scores(&self, scores: &mut [f32], index: [usize; 3]) -> bool {
        if let Some(bias) = self.bias {
            let bias = bias.row(index);
            for (key, score) in scores.iter_mut().enumerate() {
                let sum = *score + bias.at(key);
                // Not `f32::max`, because that ignores NaN.
                *score = if sum < self.min_score {
                    self.min_score
                } else {
                    sum
                };
            }
        }
        let Some(hidden) = self.hidden else {
            return false;
        };
        let hidden = hidden.row(index);
        let mut all_hidden = true;
        for (key, score) in scores.iter_mut().enumerate() {
            let is_hidden = hidden.at(key);
            *score = if is_hidden { f32::NEG_INFINITY } else { *score };
            all_hidden &= is_hidden;
        }
        all_hidden
    }
}

/// A call of [`Heads::attend_in_head`].
struct AttendInHead<'a> {
    heads: &'a Heads<'a>,
    index: usize,
    output: &'a mut [f32],
    weights: &'a mut [f32],
}

impl NullaryFnOnce for AttendInHead<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.heads
            .attend_in_head(self.index, self.output, self.weights);
    }
}

/// Replaces scores by their softmax; −∞ has weight 0, and a NaN score makes all weights NaN.
#[inline(always)]
fn softmax(scores: &mut [f32]) {
    let (max, _) = max_and_sum(scores);
    for score in scores.iter_mut() {
        let exponent = *score - max;
        let is_zero = *score == f32::NEG_INFINITY || exponent < MIN_EXPONENT;
        *score = if is_zero { 0.0 } else { exp(exponent) };
    }
    let sum = sum([scores], |[weight]| weight);
    for score in scores {
        *score /= sum;
    }
}
