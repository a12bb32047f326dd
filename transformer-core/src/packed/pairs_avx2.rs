//! Products of 8-bit integers by AVX2's sums of two products of 16 bits, for processors without AVX-512 VNNI. AVX2's sums of
//! two products of 8 bits saturate at 16 bits, so they would not be exact.

use std::arch::x86_64::__m256i;
use std::array;

use pulp::x86::V3;
use rten_gemm::GemmExecutor;

/// Number of columns of a panel.
const WIDTH: usize = 16;

/// Number of rows that are multiplied by a panel at once.
const MAX_ROWS: usize = 4;

/// Number of pairs that are multiplied by all panels before the next ones: a quarter of a megabyte, a second-level cache.
const MAX_PAIRS: usize = 1 << 16;

/// Two rows of a panel: the two weights of a column are neighbors. Each half has the columns of a vector of sums.
type Step = [[i8; WIDTH]; 2];

/// A matrix of integers `[d_in, d_out]`, panel after panel, filled with zeros.
pub(super) struct IntegerMatrix {
    steps: Vec<Step>,
    shape: [usize; 2],
}

impl IntegerMatrix {
    /// Packs a matrix, given with the strides of its rows and columns; `None` on processors with
    /// AVX-512 VNNI, for which rten-gemm has exact sums.
    pub(super) fn new(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Option<Self> {
        let is_exact = !GemmExecutor::<u8, i8, i32>::new().may_saturate();
        (!is_exact).then(|| Self::pack(values, shape, strides))
    }

    pub(super) fn pack(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [d_in, d_out] = shape;
        let n_steps = d_in.div_ceil(2);
        let mut steps = vec![[[0; WIDTH]; 2]; n_steps * d_out.div_ceil(WIDTH)];
        for (panel, steps) in steps.chunks_exact_mut(n_steps).enumerate() {
            let n_columns = WIDTH.min(d_out - panel * WIDTH);
            for k in 0..d_in {
                let step = steps[k / 2].as_flattened_mut();
                let start = k * strides[0] + panel * WIDTH * strides[1];
                for column in 0..n_columns {
                    step[2 * column + k % 2] = values[start + column * strides[1]];
                }
            }
        }
        Self { steps, shape }
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Writes the sums of the products of rows of integers; `pairs` is a buffer.
    pub(super) fn multiply(&self, rows: &[i8], pairs: &mut Vec<i32>, sums: &mut [i32]) {
        self.multiply_with(V3::try_new(), rows, pairs, sums);
    }

    fn multiply_with(&self, simd: Option<V3>, rows: &[i8], pairs: &mut Vec<i32>, sums: &mut [i32]) {
        let [d_in, d_out] = self.shape;
        let n_steps = d_in.div_ceil(2);
        pairs.clear();
        for row in rows.chunks_exact(d_in) {
            let pair = |pair: &[i8]| {
                let [first, second] = [pair[0], *pair.get(1).unwrap_or(&0)].map(i16::from);
                i32::from(first) & 0xffff | i32::from(second) << 16
            };
            pairs.extend(row.chunks(2).map(pair));
        }
        let rows_at_once = (MAX_PAIRS / n_steps / MAX_ROWS).max(1) * MAX_ROWS;
        let parts = pairs.chunks(rows_at_once * n_steps);
        for (pairs, sums) in parts.zip(sums.chunks_mut(rows_at_once * d_out)) {
            self.multiply_pairs(simd, pairs, sums);
        }
    }

    fn multiply_pairs(&self, simd: Option<V3>, pairs: &[i32], sums: &mut [i32]) {
        let [d_in, d_out] = self.shape;
        let n_steps = d_in.div_ceil(2);
        for (index, panel) in self.steps.chunks_exact(n_steps).enumerate() {
            let columns = index * WIDTH..d_out.min((index + 1) * WIDTH);
            let blocks = pairs.chunks(MAX_ROWS * n_steps);
            for (rows, sums) in blocks.zip(sums.chunks_mut(MAX_ROWS * d_out)) {
                let product = PanelProduct { panel, rows };
                let found = match simd {
                    Some(simd) => simd.vectorize(
                        #[inline(always)]
                        || product.with_avx2(simd),
                    ),
                    None => product.scalar(),
                };
                for (sums, found) in sums.chunks_exact_mut(d_out).zip(found) {
                    sums[columns.clone()].copy_from_slice(&found[..columns.len()]);
                }
            }
        }
    }
}

/// The product of up to [`MAX_ROWS`] rows of pairs with a panel.
struct PanelProduct<'a> {
    panel: &'a [Step],
    rows: &'a [i32],
}

impl PanelProduct<'_> {
    #[inline(always)]
    fn with_avx2(&self, simd: V3) -> [[i32; WIDTH]; MAX_ROWS] {
        match self.rows.len() / self.panel.len() {
            1 => self.of_rows::<1>(simd),
            2 => self.of_rows::<2>(simd),
            3 => self.of_rows::<3>(simd),
            _ => self.of_rows::<4>(simd),
        }
    }

    #[inline(always)]
    fn of_rows<const N: usize>(&self, simd: V3) -> [[i32; WIDTH]; MAX_ROWS] {
        let n_steps = self.panel.len();
        let rows: [&[i32]; N] = array::from_fn(
            #[inline(always)]
            |row| &self.rows[row * n_steps..][..n_steps],
        );
        let mut sums = [[simd.avx._mm256_setzero_si256(); 2]; N];
        for (k, [left, right]) in self.panel.iter().enumerate() {
            let weights = [
                simd.avx2._mm256_cvtepi8_epi16(bytemuck::cast(*left)),
                simd.avx2._mm256_cvtepi8_epi16(bytemuck::cast(*right)),
            ];
            for row in 0..N {
                let pair = simd.avx._mm256_set1_epi32(rows[row][k]);
                for part in 0..2 {
                    let products = simd.avx2._mm256_madd_epi16(weights[part], pair);
                    sums[row][part] = simd.avx2._mm256_add_epi32(sums[row][part], products);
                }
            }
        }
        let mut found = [[0; WIDTH]; MAX_ROWS];
        for (found, sums) in found.iter_mut().zip(sums) {
            *found = bytemuck::cast::<[__m256i; 2], _>(sums);
        }
        found
    }

    fn scalar(&self) -> [[i32; WIDTH]; MAX_ROWS] {
        let mut found = [[0; WIDTH]; MAX_ROWS];
        for (row, sums) in self.rows.chunks_exact(self.panel.len()).zip(&mut found) {
            for (step, pair) in self.panel.iter().zip(row) {
                let [first, second] = [*pair as i16, (pair >> 16) as i16].map(i32::from);
                for (sum, [one, other]) in sums.iter_mut().zip(step.as_flattened().as_chunks().0) {
                    *sum += i32::from(*one) * first + i32::from(*other) * second;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Shapes with an odd number of inputs, with part of a panel, and with more pairs than are multiplied at once.
    const SHAPES: [[usize; 2]; 5] = [[1, 1], [300, 37], [1027, 16], [64, 65], [40_000, 3]];

    #[test]
    fn sums_are_exact_with_the_largest_integers() {
        let mut random = SplitMix64::new(3);
        let mut integer = || match random.below(4) {
            0 => 127,
            1 => -127,
            _ => random.below(255) as i32 as i8,
        };
        for [d_in, d_out] in SHAPES {
            let weights: Vec<i8> = (0..d_in * d_out).map(|_| integer()).collect();
            // Weights of which each column is contiguous.
            let matrix = IntegerMatrix::pack(&weights, [d_in, d_out], [1, d_in]);
            assert_eq!(matrix.shape(), [d_in, d_out]);
            for n_rows in [1, 2, 3, 4, 9] {
                let rows: Vec<i8> = (0..n_rows * d_in).map(|_| integer()).collect();
                let sum = |index: usize| -> i32 {
                    let (row, column) = (index / d_out, index % d_out);
                    let product =
                        |k| i32::from(rows[row * d_in + k]) * i32::from(weights[column * d_in + k]);
                    (0..d_in).map(product).sum()
                };
                let expected: Vec<i32> = (0..n_rows * d_out).map(sum).collect();
                for simd in [None, V3::try_new()] {
                    let mut sums = vec![7; n_rows * d_out];
                    matrix.multiply_with(simd, &rows, &mut vec![5], &mut sums);
                    assert_eq!(sums, expected, "{n_rows} rows of {d_in}, {simd:?}");
                }
            }
        }
    }
}
