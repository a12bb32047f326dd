//! The attention of few queries, where no gradient is wanted: a step of decoding.

use burn::backend::DispatchTensor;
use burn::tensor::{DType, Shape, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;

use super::autodiff::{at_once, plain};
use super::vector::sum;
use super::vector::{exp, max_and_sum};
use crate::device::{Host, OnHost, Reach};
use crate::model::Mask;

/// Most queries of a row: of more, products of matrices are faster than those of rows.
const MAX_QUERIES: usize = 16;

/// Score of a key that is seen, however low its bias: as where Burn's operations are taken (`Mask::hide_scores`).
const LOWEST_SEEN: f32 = -5e8;

/// Below it, exponentials are nothing beside 1: smaller than any number of full precision.
const LOWEST_EXPONENT: f32 = -87.0;

/// Fewest multiplications for which it pays to call another thread.
const PRODUCTS_PER_THREAD: usize = 1 << 16;

/// Attends from few queries to keys and values, `softmax(QKᵀ/√d_k)·V` in every head (Eq. 1), and puts the heads beside
/// each other; `None` where Burn's own operations are to be taken.
///
/// What stands behind the first `n_keys` is not looked at. A query that sees no key attends to nothing: its heads and its
/// weights are zero.
///
/// # Shapes
///
/// - `query`: `[batch, len, n_heads * d_k]`
/// - `keys`: `[batch, n_heads, n_keys or more, d_k]`
/// - `values`: `[batch, n_heads, n_keys or more, d_v]`
/// - returns: `[batch, len, n_heads * d_v]`, and the weights, `[batch, n_heads, len, n_keys]`, where they are wanted
///
/// # Panics
///
/// Panics if shapes do not fit together.
pub(crate) fn attention(
    query: &Tensor<3>,
    [keys, values]: [&Tensor<4>; 2],
    n_keys: usize,
    mask: Option<&Mask>,
    wants_weights: bool,
) -> Option<(Tensor<3>, Option<Tensor<4>>)> {
    let [_, len, _] = query.dims();
    let is_for_us = len <= MAX_QUERIES && n_keys > 0 && !query.device().is_autodiff();
    if !is_for_us {
        return None;
    }
    let hidden = mask.and_then(Mask::hidden_keys);
    let bias = mask.and_then(Mask::bias);
    let is_other = |bias: &Tensor<4>| bias.dtype() != DType::F32 || bias.device().is_autodiff();
    if bias.as_ref().is_some_and(is_other) {
        return None;
    }
    at_once(query, || Attention {
        query: query.clone(),
        keys: keys.clone(),
        values: values.clone(),
        n_keys,
        hidden: hidden.map(|hidden| Axes {
            shape: hidden.dims(),
            numbers: hidden.into_data().iter::<bool>().collect(),
        }),
        bias: bias.map(|bias| Axes {
            shape: bias.dims(),
            numbers: bias.into_data().iter::<f32>().collect(),
        }),
        wants_weights,
    })
}

struct Attention {
    query: Tensor<3>,
    keys: Tensor<4>,
    values: Tensor<4>,
    n_keys: usize,
    hidden: Option<Axes<bool>>,
    bias: Option<Axes<f32>>,
    wants_weights: bool,
}

/// Holds what a mask says.
struct Axes<T> {
    numbers: Vec<T>,
    /// `[batch or 1, n_heads or 1, queries or 1, keys or 1]`.
    shape: [usize; 4],
}

impl<T: Copy> Axes<T> {
    /// Returns what it says of all keys, as a query of a row and a head sees them.
    #[inline(always)]
    fn row(&self, place: [usize; 3]) -> Keys<'_, T> {
        let [rows, n_heads, n_queries, n_keys] = self.shape;
        let axes = place.into_iter().zip([rows, n_heads, n_queries]);
        // An axis of one stands for any number.
        let row = axes.fold(0, |row, (at, size)| {
            row * size + if size == 1 { 0 } else { at }
        });
        Keys(&self.numbers[row * n_keys..][..n_keys])
    }
}

/// Holds what is said of each key, or of all of them.
struct Keys<'a, T>(&'a [T]);

impl<T: Copy> Keys<'_, T> {
    #[inline(always)]
    fn at(&self, key: usize) -> T {
        match self.0 {
            [all] => *all,
            each => each[key],
        }
    }
}

impl OnHost for Attention {
    type Output = Option<(Tensor<3>, Option<Tensor<4>>)>;

    fn call<B: Host>(self) -> Self::Output
    where
        DispatchTensor: Reach<B>,
    {
        let device = self.query.device();
        let sizes = self.sizes();
        let (query, keys) = (plain::<B, 3>(self.query)?, plain::<B, 4>(self.keys)?);
        let values = plain::<B, 4>(self.values)?;
        let (query, keys) = (B::numbers(&query), B::numbers(&keys));
        let values = B::numbers(&values);
        let heads = Heads {
            sizes: &sizes,
            query: &query,
            keys: &keys,
            values: &values,
            hidden: self.hidden.as_ref(),
            bias: self.bias.as_ref(),
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
        let output = B::make(Shape::from([batch, len, n_heads * d_v]), |output| {
            if len == 1 {
                // One query's heads lie beside each other anyway.
                return heads.attend(output, &mut weights);
            }
            let mut by_head = vec![0.0; output.len()];
            heads.attend(&mut by_head, &mut weights);
            for (place, numbers) in output.chunks_mut(d_v).enumerate() {
                let (query, head) = (place / n_heads, place % n_heads);
                let from = (query / len * n_heads + head) * len + query % len;
                numbers.copy_from_slice(&by_head[from * d_v..][..d_v]);
            }
        });
        let weights = self.wants_weights.then(|| {
            let weights = TensorData::new(weights, [batch, n_heads, len, n_keys]);
            Tensor::from_data(weights, (&device, DType::F32))
        });
        Some((Tensor::from_primitive::<B>(output), weights))
    }
}

impl Attention {
    fn sizes(&self) -> Sizes {
        let [batch, len, width] = self.query.dims();
        let [n_rows, n_heads, room, d_k] = self.keys.dims();
        let [_, _, _, d_v] = self.values.dims();
        assert_eq!(n_rows, batch, "each row has keys of its own");
        assert_eq!(width, n_heads * d_k, "a query is as wide as its keys");
        assert!(self.n_keys <= room, "there is room for the keys");
        assert_eq!(
            self.values.dims(),
            [batch, n_heads, room, d_v],
            "each key has a value"
        );
        Sizes {
            batch,
            n_heads,
            len,
            n_keys: self.n_keys,
            room,
            d_k,
            d_v,
        }
    }
}

struct Sizes {
    batch: usize,
    n_heads: usize,
    len: usize,
    n_keys: usize,
    /// Keys that there is room for.
    room: usize,
    d_k: usize,
    d_v: usize,
}

/// Holds what is attended from and to.
struct Heads<'a> {
    sizes: &'a Sizes,
    query: &'a [f32],
    keys: &'a [f32],
    values: &'a [f32],
    hidden: Option<&'a Axes<bool>>,
    bias: Option<&'a Axes<f32>>,
}

impl Heads<'_> {
    /// Writes what the queries attend to, and how much, head by head.
    ///
    /// # Shapes
    ///
    /// - `output`: `[batch, n_heads, len, d_v]`
    /// - `weights`: `[batch, n_heads, len, n_keys]`
    fn attend(&self, output: &mut [f32], weights: &mut [f32]) {
        let arch = Arch::new();
        let Sizes {
            len,
            n_keys,
            d_k,
            d_v,
            ..
        } = *self.sizes;
        let of_head = len * n_keys * (d_k + d_v);
        output
            .par_chunks_mut(len * d_v)
            .zip(weights.par_chunks_mut(len * n_keys))
            .with_min_len(PRODUCTS_PER_THREAD.div_ceil(of_head))
            .enumerate()
            .for_each(|(place, (output, weights))| {
                arch.dispatch(|| self.attend_from(place, output, weights));
            });
    }

    /// Does so in the head of a row that stands at a place of all.
    #[inline(always)]
    fn attend_from(&self, place: usize, output: &mut [f32], weights: &mut [f32]) {
        let Sizes {
            n_heads,
            len,
            n_keys,
            room,
            d_k,
            d_v,
            ..
        } = *self.sizes;
        let (row, head) = (place / n_heads, place % n_heads);
        let keys = &self.keys[place * room * d_k..][..n_keys * d_k];
        let values = &self.values[place * room * d_v..][..n_keys * d_v];
        let scale = (d_k as f32).sqrt().recip();
        let queries = weights
            .chunks_exact_mut(n_keys)
            .zip(output.chunks_exact_mut(d_v));
        for (at, (weights, output)) in queries.enumerate() {
            let query = &self.query[((row * len + at) * n_heads + head) * d_k..][..d_k];
            for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(d_k)) {
                *weight = sum([query, key], |[q, k]| q * k) * scale;
            }
            let sees_nothing = self.mask(weights, [row, head, at]);
            normalize(weights);
            if sees_nothing {
                weights.fill(0.0);
            }
            for (weight, value) in weights.iter().zip(values.chunks_exact(d_v)) {
                for (output, value) in output.iter_mut().zip(value) {
                    *output += weight * value;
                }
            }
        }
    }

    /// Adds the bias to a query's scores, and makes those of hidden keys −∞; says whether all are hidden.
    #[inline(always)]
    fn mask(&self, scores: &mut [f32], place: [usize; 3]) -> bool {
        if let Some(bias) = self.bias {
            let bias = bias.row(place);
            for (key, score) in scores.iter_mut().enumerate() {
                let sum = *score + bias.at(key);
                // What is seen stays above what is hidden. Not `max`, to which a NaN would be nothing.
                *score = if sum < LOWEST_SEEN { LOWEST_SEEN } else { sum };
            }
        }
        let Some(hidden) = self.hidden else {
            return false;
        };
        let hidden = hidden.row(place);
        let mut sees_nothing = true;
        for (key, score) in scores.iter_mut().enumerate() {
            let is_hidden = hidden.at(key);
            *score = if is_hidden { f32::NEG_INFINITY } else { *score };
            sees_nothing &= is_hidden;
        }
        sees_nothing
    }
}

/// Turns scores into weights: their softmax, in which −∞ weighs nothing. What is not a number is told by all of them.
#[inline(always)]
fn normalize(scores: &mut [f32]) {
    let (max, _) = max_and_sum(scores);
    for score in scores.iter_mut() {
        let below = *score - max;
        let is_nothing = *score == f32::NEG_INFINITY || below < LOWEST_EXPONENT;
        *score = if is_nothing { 0.0 } else { exp(below) };
    }
    let sum = sum([scores], |[weight]| weight);
    for score in scores {
        *score /= sum;
    }
}
