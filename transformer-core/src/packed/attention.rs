//! Scaled dot-product attention (Eq. 1) of single queries.

use crate::cpu::{max_and_sum, replace_by_exponentials};

/// Keys of one block, which are one vector of the processor, or several.
pub(super) const BLOCK: usize = 16;

/// Partial sums of a score, so that additions need not wait for each other.
const PARTS: usize = 4;

/// Features of a value that are summed in registers.
const WIDE: usize = 64;

/// The sizes of all heads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub(super) n_heads: usize,
    pub(super) d_k: usize,
    pub(super) d_v: usize,
}

impl Heads {
    /// Returns the number of features of the keys of all heads.
    pub(super) fn keys(self) -> usize {
        self.n_heads * self.d_k
    }

    /// Returns the number of features of the values of all heads.
    pub(super) fn values(self) -> usize {
        self.n_heads * self.d_v
    }

    /// Returns the factor of the scores, `1/√d_k`.
    pub(super) fn scale(self) -> f32 {
        1.0 / (self.d_k as f32).sqrt()
    }
}

/// Rows of features, one for each key.
pub(super) trait Rows {
    /// Returns a row, or its beginning and more.
    fn row(&self, key: usize) -> &[f32];
}

/// Rows at equal distances.
pub(super) struct Strided<'a> {
    pub(super) features: &'a [f32],
    pub(super) width: usize,
}

impl Rows for Strided<'_> {
    #[inline(always)]
    fn row(&self, key: usize) -> &[f32] {
        &self.features[key * self.width..]
    }
}

/// Returns the number of keys with those that fill the last block.
pub(super) fn padded(n_keys: usize) -> usize {
    n_keys.next_multiple_of(BLOCK)
}

/// Writes the keys of one head in blocks, `[blocks, d_k, BLOCK]`, the last one filled with zeros.
///
/// # Shapes
///
/// - `rows`: one key for each row; `width` is the distance between rows
/// - `blocks`: `padded(n_keys) * d_k`
pub(super) fn write_blocks(
    rows: &[f32],
    width: usize,
    d_k: usize,
    n_keys: usize,
    blocks: &mut [f32],
) {
    blocks.fill(0.0);
    for key in 0..n_keys {
        let row = &rows[key * width..][..d_k];
        let block = &mut blocks[key / BLOCK * BLOCK * d_k..][..BLOCK * d_k];
        for (feature, value) in row.iter().enumerate() {
            block[feature * BLOCK + key % BLOCK] = *value;
        }
    }
}

/// Writes the scores of all keys in blocks, padding included.
///
/// # Shapes
///
/// - `query`: `[d_k]`
/// - `blocks`: `[blocks, d_k, BLOCK]`
/// - `scores`: `[blocks * BLOCK]`
#[inline(always)]
pub(super) fn score_blocks(query: &[f32], blocks: &[f32], scores: &mut [f32]) {
    let (scores, _) = scores.as_chunks_mut::<BLOCK>();
    let blocks = blocks.chunks_exact(query.len() * BLOCK);
    for (scores, block) in scores.iter_mut().zip(blocks) {
        let mut parts = [[0.0_f32; BLOCK]; PARTS];
        let (block, _) = block.as_chunks::<BLOCK>();
        let (queries, rest) = query.as_chunks::<PARTS>();
        let (keys, rest_of_keys) = block.split_at(queries.len() * PARTS);
        for (query, keys) in queries.iter().zip(keys.as_chunks::<PARTS>().0) {
            for ((part, query), key) in parts.iter_mut().zip(query).zip(keys) {
                for (sum, key) in part.iter_mut().zip(key) {
                    *sum = query.mul_add(*key, *sum);
                }
            }
        }
        for (query, key) in rest.iter().zip(rest_of_keys) {
            for (sum, key) in parts[0].iter_mut().zip(key) {
                *sum = query.mul_add(*key, *sum);
            }
        }
        let [a, b, c, d] = parts;
        for (index, score) in scores.iter_mut().enumerate() {
            *score = (a[index] + b[index]) + (c[index] + d[index]);
        }
    }
}

/// Returns the scalar product of two vectors of equal length.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_of_a), (b, rest_of_b)) = (a.as_chunks::<BLOCK>(), b.as_chunks::<BLOCK>());
    let mut sums = [0.0_f32; BLOCK];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = a.mul_add(*b, *sum);
        }
    }
    // Halves are added to halves, so that the compiler can vectorize it.
    let mut len = BLOCK;
    while len > 1 {
        len /= 2;
        for index in 0..len {
            sums[index] += sums[index + len];
        }
    }
    let rest = rest_of_a.iter().zip(rest_of_b);
    rest.fold(sums[0], |sum, (a, b)| a.mul_add(*b, sum))
}

/// Replaces scores by their softmax.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32]) {
    let (max, _) = max_and_sum(scores);
    let sum = replace_by_exponentials(scores, max);
    let factor = 1.0 / sum;
    for weight in scores {
        *weight *= factor;
    }
}

/// Writes the sum of values, each times its weight.
///
/// # Shapes
///
/// - `values`: a row for each key, of at least `output.len()` features
/// - `output`: `[d_v]`
#[inline(always)]
pub(super) fn weighted_sum(weights: &[f32], values: &impl Rows, output: &mut [f32]) {
    let mut start = 0;
    while output.len() - start >= WIDE {
        weighted_sum_of::<WIDE>(weights, values, start, output);
        start += WIDE;
    }
    while output.len() - start >= BLOCK {
        weighted_sum_of::<BLOCK>(weights, values, start, output);
        start += BLOCK;
    }
    while output.len() > start {
        weighted_sum_of::<1>(weights, values, start, output);
        start += 1;
    }
}

/// Does it for `N` features.
#[inline(always)]
fn weighted_sum_of<const N: usize>(
    weights: &[f32],
    values: &impl Rows,
    start: usize,
    output: &mut [f32],
) {
    let mut sums = [0.0_f32; N];
    for (key, weight) in weights.iter().enumerate() {
        let value: &[f32; N] = values.row(key)[start..start + N]
            .try_into()
            .expect("N features");
        for (sum, value) in sums.iter_mut().zip(value) {
            *sum = weight.mul_add(*value, *sum);
        }
    }
    output[start..start + N].copy_from_slice(&sums);
}
