//! The attention of few queries, where no gradient is wanted: a step of decoding.

use burn::backend::DispatchTensor;
use burn::tensor::{DType, Shape, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;

use super::rows::sum;
use super::step::{at_once, plain};
use crate::device::{Host, OnHost, Reach};
use crate::model::Mask;
use crate::rows::exp;

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
    if bias.as_ref().is_some_and(|bias| bias.dtype() != DType::F32) {
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
    /// Returns what it says of a key, as a query of a row and a head sees it.
    #[inline(always)]
    fn at(&self, place: [usize; 4]) -> T {
        let axes = place.into_iter().zip(self.shape);
        // An axis of one stands for any number.
        self.numbers[axes.fold(0, |index, (at, size)| {
            index * size + if size == 1 { 0 } else { at }
        })]
    }
}

impl OnHost for Attention {
    type Output = Option<(Tensor<3>, Option<Tensor<4>>)>;

    fn call<B: Host>(self) -> Self::Output
    where
        DispatchTensor: Reach<B>,
    {
        let device = self.query.device();
        let heads = self.heads();
        let (query, keys) = (plain::<B, 3>(self.query)?, plain::<B, 4>(self.keys)?);
        let values = plain::<B, 4>(self.values)?;
        let (query, keys) = (B::numbers(&query), B::numbers(&keys));
        let values = B::numbers(&values);
        let (hidden, bias) = (self.hidden.as_ref(), self.bias.as_ref());
        let Heads {
            batch,
            n_heads,
            len,
            n_keys,
            ..
        } = heads;
        let mut weights = vec![0.0; batch * n_heads * len * n_keys];
        let width = n_heads * heads.d_v;
        let output = B::make(Shape::from([batch, len, width]), |output| {
            let arch = Arch::new();
            let of_row = n_heads * len * n_keys * (heads.d_k + heads.d_v);
            output
                .par_chunks_mut(len * width)
                .zip(weights.par_chunks_mut(n_heads * len * n_keys))
                .with_min_len(PRODUCTS_PER_THREAD.div_ceil(of_row))
                .enumerate()
                .for_each(|(row, (output, weights))| {
                    let row = Row {
                        row,
                        query: &query,
                        keys: &keys,
                        values: &values,
                        hidden,
                        bias,
                    };
                    arch.dispatch(|| heads.attend(&row, output, weights));
                });
        });
        let weights = self.wants_weights.then(|| {
            let shape = [batch, n_heads, len, n_keys];
            Tensor::from_data(TensorData::new(weights, shape), &device)
        });
        Some((Tensor::from_primitive::<B>(output), weights))
    }
}

impl Attention {
    fn heads(&self) -> Heads {
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
        Heads {
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

/// Holds the sizes.
struct Heads {
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
struct Row<'a> {
    /// Which of the batch.
    row: usize,
    query: &'a [f32],
    keys: &'a [f32],
    values: &'a [f32],
    hidden: Option<&'a Axes<bool>>,
    bias: Option<&'a Axes<f32>>,
}

impl Heads {
    /// Writes what the queries of a row attend to, and how much.
    #[inline(always)]
    fn attend(&self, row: &Row<'_>, output: &mut [f32], weights: &mut [f32]) {
        let scale = (self.d_k as f32).sqrt().recip();
        for head in 0..self.n_heads {
            let held = (row.row * self.n_heads + head) * self.room;
            let keys = &row.keys[held * self.d_k..][..self.n_keys * self.d_k];
            let values = &row.values[held * self.d_v..][..self.n_keys * self.d_v];
            for place in 0..self.len {
                let of_query = (row.row * self.len + place) * self.n_heads + head;
                let query = &row.query[of_query * self.d_k..][..self.d_k];
                let weights =
                    &mut weights[(head * self.len + place) * self.n_keys..][..self.n_keys];
                for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(self.d_k)) {
                    *weight = sum([query, key], |[q, k]| q * k) * scale;
                }
                row.mask(weights, [head, place]);
                normalize(weights);
                let output = &mut output[(place * self.n_heads + head) * self.d_v..][..self.d_v];
                for (weight, value) in weights.iter().zip(values.chunks_exact(self.d_v)) {
                    for (output, value) in output.iter_mut().zip(value) {
                        *output += weight * value;
                    }
                }
            }
        }
    }
}

impl Row<'_> {
    /// Adds the bias to a query's scores, and makes those of hidden keys −∞.
    #[inline(always)]
    fn mask(&self, scores: &mut [f32], [head, place]: [usize; 2]) {
        let place = |key| [self.row, head, place, key];
        if let Some(bias) = self.bias {
            for (key, score) in scores.iter_mut().enumerate() {
                let sum = *score + bias.at(place(key));
                // What is seen stays above what is hidden. Not `max`, to which a NaN would be nothing.
                *score = if sum < LOWEST_SEEN { LOWEST_SEEN } else { sum };
            }
        }
        if let Some(hidden) = self.hidden {
            for (key, score) in scores.iter_mut().enumerate() {
                if hidden.at(place(key)) {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// Turns scores into weights: their softmax, in which −∞ weighs nothing, nor does anything where there is nothing else.
#[inline(always)]
fn normalize(scores: &mut [f32]) {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, larger);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        let below = *score - max;
        let is_nothing = *score == f32::NEG_INFINITY || below < LOWEST_EXPONENT;
        *score = if is_nothing { 0.0 } else { exp(below) };
        sum += *score;
    }
    if sum == 0.0 {
        return;
    }
    for score in scores {
        *score /= sum;
    }
}
