//! Scaled dot-product attention (Eq. 1) of single queries.

mod decoder;
mod encoder;

pub use decoder::{AttendToMemory, AttendToPast, Memory};
pub use encoder::AttendWithin;

use pulp::Simd;

use crate::fused::mul_add;
use crate::vector::{max_and_sum, replace_by_exponentials};

/// Number of keys in a block: one vector of the processor, or several. No vector is longer.
const BLOCK: usize = 16;

/// Number of partial sums of a score, so that additions need not wait for each other.
const PARTS: usize = 4;

/// Number of vectors of a value that are summed in registers.
const WIDE: usize = 4;

/// The number and the widths of the heads.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Number of heads.
    pub n_heads: usize,
    /// Width of a query and of a key of one head.
    pub d_k: usize,
    /// Width of a value of one head.
    pub d_v: usize,
}

impl Heads {
    /// Returns the width of the keys of all heads.
    pub fn keys(self) -> usize {
        self.n_heads * self.d_k
    }

    /// Returns the width of the values of all heads.
    pub fn values(self) -> usize {
        self.n_heads * self.d_v
    }

    /// Returns the factor of the scores, `1/√d_k`.
    fn scale(self) -> f32 {
        1.0 / (self.d_k as f32).sqrt()
    }
}

/// The buffers of attention.
#[derive(Debug, Default)]
pub struct Buffers {
    /// A scaled query of one head.
    query: Vec<f32>,
    /// The keys of one head in the order of [`write_blocks`].
    keys: Vec<f32>,
    /// Scores, then weights.
    scores: Vec<f32>,
}

trait Rows {
    /// Returns a slice that begins with the row.
    fn row(&self, key: usize) -> &[f32];
}

/// Rows at equal distances.
struct Strided<'a> {
    features: &'a [f32],
    width: usize,
}

impl Rows for Strided<'_> {
    #[inline(always)]
    fn row(&self, key: usize) -> &[f32] {
        &self.features[key * self.width..]
    }
}

/// Returns the number of keys, rounded up to whole blocks.
pub fn padded(n_keys: usize) -> usize {
    n_keys.next_multiple_of(BLOCK)
}

/// Writes the keys of one head in blocks, `[blocks, d_k, BLOCK]`, the last one filled with zeros.
///
/// # Shapes
///
/// - `rows`: one key for each row; `width` is the distance between rows
/// - `blocks`: `padded(n_keys) * d_k`
#[inline(never)]
pub fn write_blocks(rows: &[f32], width: usize, d_k: usize, n_keys: usize, blocks: &mut [f32]) {
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
fn score_blocks<S: Simd>(simd: S, query: &[f32], blocks: &[f32], scores: &mut [f32]) {
    // The vectors of one feature.
    let n = BLOCK / S::F32_LANES;
    let (queries, rest) = query.as_chunks::<PARTS>();
    let blocks = blocks.chunks_exact(query.len() * BLOCK);
    for (scores, block) in scores.chunks_exact_mut(BLOCK).zip(blocks) {
        let (keys, _) = S::as_simd_f32s(block);
        let (keys, rest_of_keys) = keys.split_at(queries.len() * PARTS * n);
        let (scores, _) = S::as_mut_simd_f32s(scores);
        for (index, score) in scores.iter_mut().enumerate() {
            let [mut a, mut b, mut c, mut d] = [simd.splat_f32s(0.0); PARTS];
            for (query, keys) in queries.iter().zip(keys.chunks_exact(PARTS * n)) {
                let [q, r, s, t] = query.map(
                    #[inline(always)]
                    |query| simd.splat_f32s(query),
                );
                a = mul_add(simd, q, keys[index], a);
                b = mul_add(simd, r, keys[n + index], b);
                c = mul_add(simd, s, keys[2 * n + index], c);
                d = mul_add(simd, t, keys[3 * n + index], d);
            }
            for (query, keys) in rest.iter().zip(rest_of_keys.chunks_exact(n)) {
                a = mul_add(simd, simd.splat_f32s(*query), keys[index], a);
            }
            *score = simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d));
        }
    }
}

/// Returns the scalar product of two vectors of equal length.
///
/// Sums of 16 features each are added, halves to halves, so that the order does not depend on the processor's vectors.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let n = BLOCK / S::F32_LANES;
    let len = a.len() / BLOCK * BLOCK;
    let ((a, rest_of_a), (b, rest_of_b)) = (a.split_at(len), b.split_at(len));
    let ((a, _), (b, _)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let mut sums = [0.0_f32; BLOCK];
    let (vectors, _) = S::as_mut_simd_f32s(&mut sums);
    for (index, sum) in vectors.iter_mut().enumerate() {
        let mut total = simd.splat_f32s(0.0);
        for (a, b) in a.chunks_exact(n).zip(b.chunks_exact(n)) {
            total = mul_add(simd, a[index], b[index], total);
        }
        *sum = total;
    }
    let mut len = BLOCK;
    while len > 1 {
        len /= 2;
        for index in 0..len {
            sums[index] += sums[index + len];
        }
    }
    let rest = rest_of_a.iter().zip(rest_of_b);
    rest.fold(
        sums[0],
        #[inline(always)]
        |sum, (a, b)| a.mul_add(*b, sum),
    )
}

#[inline(always)]
fn softmax(scores: &mut [f32]) {
    let (max, _) = max_and_sum(scores);
    let sum = replace_by_exponentials(scores, max);
    let factor = 1.0 / sum;
    for weight in scores {
        *weight *= factor;
    }
}

/// Writes the weighted sum of values.
///
/// # Shapes
///
/// - `values`: a row for each key, of at least `output.len()` features
/// - `output`: `[d_v]`
#[inline(always)]
fn weighted_sum<S: Simd>(simd: S, weights: &[f32], values: &impl Rows, output: &mut [f32]) {
    let (vectors, rest) = S::as_mut_simd_f32s(output);
    let (groups, singles) = vectors.as_chunks_mut::<WIDE>();
    let mut start = 0;
    for group in groups {
        sum_features(simd, weights, values, start, group);
        start += WIDE * S::F32_LANES;
    }
    for single in singles {
        sum_features(simd, weights, values, start, std::array::from_mut(single));
        start += S::F32_LANES;
    }
    for (feature, output) in (start..).zip(rest) {
        *output = 0.0;
        for (key, weight) in weights.iter().enumerate() {
            *output = weight.mul_add(values.row(key)[feature], *output);
        }
    }
}

/// Writes `N` vectors of the sum, from the feature `start` on.
#[inline(always)]
fn sum_features<S: Simd, const N: usize>(
    simd: S,
    weights: &[f32],
    values: &impl Rows,
    start: usize,
    output: &mut [S::f32s; N],
) {
    let mut sums = [simd.splat_f32s(0.0); N];
    for (key, weight) in weights.iter().enumerate() {
        let weight = simd.splat_f32s(*weight);
        let value = &values.row(key)[start..start + N * S::F32_LANES];
        let (value, _) = S::as_simd_f32s(value);
        for index in 0..N {
            sums[index] = mul_add(simd, weight, value[index], sums[index]);
        }
    }
    *output = sums;
}
