//! Products of 8-bit integers by WebAssembly's sums of two products of 16 bits.

use std::arch::wasm32::{
    i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_splat, v128,
};

/// Number of columns of a panel.
const WIDTH: usize = 16;

/// Number of vectors of 32-bit sums of a panel.
const SUMS: usize = WIDTH / 4;

/// Two rows of a panel: the two weights of a column are neighbors.
type Step = [v128; 2];

/// A matrix of integers `[d_in, d_out]`, panel after panel, filled with zeros.
pub(super) struct IntegerMatrix {
    steps: Vec<Step>,
    shape: [usize; 2],
}

impl IntegerMatrix {
    /// Packs a matrix, given with the strides of its rows and columns.
    pub(super) fn new(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Option<Self> {
        let [d_in, d_out] = shape;
        let n_steps = d_in.div_ceil(2);
        let mut steps = vec![[i32x4_splat(0); 2]; n_steps * d_out.div_ceil(WIDTH)];
        for (panel, steps) in steps.chunks_exact_mut(n_steps).enumerate() {
            let n_columns = WIDTH.min(d_out - panel * WIDTH);
            let bytes: &mut [[i8; 2 * WIDTH]] = bytemuck::cast_slice_mut(steps);
            for k in 0..d_in {
                let step = &mut bytes[k / 2];
                let start = k * strides[0] + panel * WIDTH * strides[1];
                for column in 0..n_columns {
                    step[2 * column + k % 2] = values[start + column * strides[1]];
                }
            }
        }
        Some(Self { steps, shape })
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Writes the sums of the products of rows of integers; `pairs` is a buffer.
    pub(super) fn multiply(&self, rows: &[i8], pairs: &mut Vec<i32>, sums: &mut [i32]) {
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
        for (index, panel) in self.steps.chunks_exact(n_steps).enumerate() {
            let columns = index * WIDTH..d_out.min((index + 1) * WIDTH);
            let mut write = |row: usize, found: [v128; SUMS]| {
                let found: [i32; WIDTH] = bytemuck::cast(found);
                let sums = &mut sums[row * d_out..][columns.clone()];
                sums.copy_from_slice(&found[..columns.len()]);
            };
            let mut blocks = pairs.chunks_exact(2 * n_steps);
            let mut row = 0;
            for block in &mut blocks {
                let (first, second) = block.split_at(n_steps);
                let [first, second] = multiply_panel(panel, [first, second]);
                write(row, first);
                write(row + 1, second);
                row += 2;
            }
            if !blocks.remainder().is_empty() {
                let [last] = multiply_panel(panel, [blocks.remainder()]);
                write(row, last);
            }
        }
    }
}

/// Returns the sums of rows with a panel.
#[inline(always)]
fn multiply_panel<const N: usize>(panel: &[Step], rows: [&[i32]; N]) -> [[v128; SUMS]; N] {
    let rows = rows.map(|row| &row[..panel.len()]);
    let mut sums = [[i32x4_splat(0); SUMS]; N];
    for (k, [left, right]) in panel.iter().enumerate() {
        let weights = [
            i16x8_extend_low_i8x16(*left),
            i16x8_extend_high_i8x16(*left),
            i16x8_extend_low_i8x16(*right),
            i16x8_extend_high_i8x16(*right),
        ];
        for row in 0..N {
            let pair = i32x4_splat(rows[row][k]);
            for (sum, weights) in sums[row].iter_mut().zip(weights) {
                *sum = i32x4_add(*sum, i32x4_dot_i16x8(weights, pair));
            }
        }
    }
    sums
}
