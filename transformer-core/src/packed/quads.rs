//! Products of 8-bit integers by WebAssembly's relaxed sums of four products of 8 bits.
//!
//! The module is for engines that compute these sums exactly: with the second operand as unsigned integers, as the VNNI
//! instructions of x86 do it, or as signed ones, as Arm's. The npm package uses it only where a trial shows that.

use std::arch::wasm32::{
    i32x4_add, i32x4_extract_lane, i32x4_relaxed_dot_i8x16_i7x16_add, i32x4_splat, v128,
};
use std::array;

/// Number of columns of a panel.
const WIDTH: usize = 16;

/// Number of vectors of 32-bit sums of a panel.
const SUMS: usize = WIDTH / 4;

/// Four rows of a panel: the four weights of a column are neighbors.
type Step = [v128; SUMS];

/// A matrix of integers `[d_in, d_out]`, panel after panel, filled with zeros.
pub(super) struct IntegerMatrix {
    steps: Vec<Step>,
    /// For each panel, what the sums begin with: minus the sums of what is added to activations.
    starts: Vec<Step>,
    /// The highest bits of four activations, which are flipped to add 128 and make them unsigned, or zero.
    flips: i32,
    shape: [usize; 2],
}

impl IntegerMatrix {
    pub(super) fn new(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Option<Self> {
        let [d_in, d_out] = shape;
        let n_steps = d_in.div_ceil(4);
        let n_panels = d_out.div_ceil(WIDTH);
        let zeros = [i32x4_splat(0); SUMS];
        let (mut steps, mut starts) = (vec![zeros; n_steps * n_panels], vec![zeros; n_panels]);
        let offset = if is_unsigned() { 128 } else { 0 };
        let panels = steps.chunks_exact_mut(n_steps).zip(&mut starts);
        for (panel, (steps, start)) in panels.enumerate() {
            let n_columns = WIDTH.min(d_out - panel * WIDTH);
            let bytes: &mut [[i8; 4 * WIDTH]] = bytemuck::cast_slice_mut(steps);
            let start: &mut [i32; WIDTH] = bytemuck::cast_mut(start);
            for k in 0..d_in {
                let step = &mut bytes[k / 4];
                let first = k * strides[0] + panel * WIDTH * strides[1];
                for column in 0..n_columns {
                    let value = values[first + column * strides[1]];
                    step[4 * column + k % 4] = value;
                    start[column] -= offset * i32::from(value);
                }
            }
        }
        Some(Self {
            steps,
            starts,
            flips: i32::from_ne_bytes([offset as u8; 4]),
            shape,
        })
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Writes the sums of the products of rows of integers; `quads` is a buffer.
    #[target_feature(enable = "relaxed-simd")]
    pub(super) fn multiply(&self, rows: &[i8], quads: &mut Vec<i32>, sums: &mut [i32]) {
        let [d_in, d_out] = self.shape;
        let n_steps = d_in.div_ceil(4);
        quads.clear();
        for row in rows.chunks_exact(d_in) {
            // Weights after the last one are zeros.
            let byte = |quad: &[i8], index| quad.get(index).map_or(0, |it| *it as u8);
            let quad = |quad: &[i8]| i32::from_ne_bytes(array::from_fn(|index| byte(quad, index)));
            quads.extend(row.chunks(4).map(|it| quad(it) ^ self.flips));
        }
        let panels = self.steps.chunks_exact(n_steps).zip(&self.starts);
        for (index, (panel, start)) in panels.enumerate() {
            let columns = index * WIDTH..d_out.min((index + 1) * WIDTH);
            let mut write = |row: usize, found: Step| {
                let found: [i32; WIDTH] = bytemuck::cast(found);
                let sums = &mut sums[row * d_out..][columns.clone()];
                sums.copy_from_slice(&found[..columns.len()]);
            };
            let mut blocks = quads.chunks_exact(2 * n_steps);
            let mut row = 0;
            for block in &mut blocks {
                let [first, second] = multiply_two(panel, block.split_at(n_steps), *start);
                write(row, first);
                write(row + 1, second);
                row += 2;
            }
            if !blocks.remainder().is_empty() {
                write(row, multiply_one(panel, blocks.remainder(), *start));
            }
        }
    }
}

/// Returns the sums of two rows with a panel, added to `start`.
#[inline(always)]
fn multiply_two(panel: &[Step], (first, second): (&[i32], &[i32]), start: Step) -> [Step; 2] {
    let mut sums = [start; 2];
    for (step, (first, second)) in panel.iter().zip(first.iter().zip(second)) {
        add(&mut sums[0], step, *first);
        add(&mut sums[1], step, *second);
    }
    sums
}

/// Returns the sums of a row with a panel, added to `start`.
#[inline(always)]
fn multiply_one(panel: &[Step], row: &[i32], start: Step) -> Step {
    // Two sums, so that an addition need not wait for the one before it.
    let mut sums = [start, [i32x4_splat(0); SUMS]];
    let ((steps, last), (quads, last_quad)) = (panel.as_chunks::<2>(), row.as_chunks::<2>());
    for ([even, odd], [first, second]) in steps.iter().zip(quads) {
        add(&mut sums[0], even, *first);
        add(&mut sums[1], odd, *second);
    }
    for (step, quad) in last.iter().zip(last_quad) {
        add(&mut sums[0], step, *quad);
    }
    array::from_fn(|part| i32x4_add(sums[0][part], sums[1][part]))
}

/// Adds the products of four weights of each column with four activations.
#[inline(always)]
fn add(sums: &mut Step, weights: &Step, quad: i32) {
    let quad = i32x4_splat(quad);
    for (sum, weights) in sums.iter_mut().zip(weights) {
        *sum = i32x4_relaxed_dot_i8x16_i7x16_add(*weights, quad, *sum);
    }
}

/// Returns whether the engine reads the second operand of these sums as unsigned integers.
#[target_feature(enable = "relaxed-simd")]
fn is_unsigned() -> bool {
    let ones = i32x4_splat(0x0101_0101);
    let sums = i32x4_relaxed_dot_i8x16_i7x16_add(ones, i32x4_splat(-1), i32x4_splat(0));
    i32x4_extract_lane::<0>(sums) > 0
}
