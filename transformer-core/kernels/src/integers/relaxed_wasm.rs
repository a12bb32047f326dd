//! Sums of integers by WebAssembly's relaxed sums of four products of 8 bits.
//!
//! The module is for engines that compute these sums exactly: with the second operand as unsigned integers, as the VNNI
//! instructions of x86 do it, or as signed ones, as Arm's. The npm package uses it only where a trial shows that.

use std::arch::wasm32::{
    i32x4_add, i32x4_extract_lane, i32x4_relaxed_dot_i8x16_i7x16_add, i32x4_splat, v128,
};
use std::array;

use super::{Step, SumIntegers, Sums, WIDTH};

/// Number of activations that are multiplied at once.
pub(super) const GROUP: usize = 4;

/// Maximum number of rows that are multiplied by a panel at once.
pub(super) const MAX_ROWS: usize = 2;

/// The 32-bit sums of a row with a panel, or the weights of a step.
type Vectors = [v128; WIDTH / 4];

/// The vector instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// The highest bits of four activations, which are flipped to add 128 and make them unsigned; zero where the engine
    /// reads signed ones.
    flips: u32,
}

impl Kernel {
    pub(super) fn new() -> Self {
        let flips = if is_unsigned() { 0x8080_8080 } else { 0 };
        Self { flips }
    }
}

impl SumIntegers for Kernel {
    fn added(self) -> u8 {
        self.flips as u8
    }

    fn group(self, group: &[i8]) -> i32 {
        // Weights after the last one are zeros.
        let byte = |index| group.get(index).map_or(0, |it| *it as u8);
        let bytes = u32::from_ne_bytes(array::from_fn(byte));
        (bytes ^ self.flips) as i32
    }

    #[inline(always)]
    fn run(self, function: impl FnOnce()) {
        run(function);
    }

    #[inline(always)]
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        let start = bytemuck::cast(*start);
        bytemuck::cast(match rows.split_at(panel.len()) {
            (row, []) => [sum_one(panel, start, row), start],
            rows => sum_two(panel, start, rows),
        })
    }
}

/// Runs a function. Relaxed sums become one instruction only within a function that has it.
#[target_feature(enable = "relaxed-simd")]
fn run(function: impl FnOnce()) {
    function();
}

#[inline(always)]
fn sum_two(panel: &[Step], start: Vectors, (first, second): (&[i32], &[i32])) -> [Vectors; 2] {
    let mut sums = [start; 2];
    for (step, (first, second)) in panel.iter().zip(first.iter().zip(second)) {
        add(&mut sums[0], step, *first);
        add(&mut sums[1], step, *second);
    }
    sums
}

#[inline(always)]
fn sum_one(panel: &[Step], start: Vectors, row: &[i32]) -> Vectors {
    // Two sums, so that an addition need not wait for the one before it.
    let mut sums = [start, [i32x4_splat(0); WIDTH / 4]];
    let ((steps, last), (groups, last_group)) = (panel.as_chunks::<2>(), row.as_chunks::<2>());
    for ([even, odd], [first, second]) in steps.iter().zip(groups) {
        add(&mut sums[0], even, *first);
        add(&mut sums[1], odd, *second);
    }
    for (step, group) in last.iter().zip(last_group) {
        add(&mut sums[0], step, *group);
    }
    array::from_fn(|part| i32x4_add(sums[0][part], sums[1][part]))
}

/// Adds the products of four weights of each column with four activations.
#[inline(always)]
fn add(sums: &mut Vectors, Step(weights): &Step, group: i32) {
    let weights: Vectors = bytemuck::cast(*weights);
    let group = i32x4_splat(group);
    for (sum, weights) in sums.iter_mut().zip(weights) {
        *sum = i32x4_relaxed_dot_i8x16_i7x16_add(weights, group, *sum);
    }
}

/// Returns whether the engine reads the second operand of these sums as unsigned integers.
#[target_feature(enable = "relaxed-simd")]
fn is_unsigned() -> bool {
    let ones = i32x4_splat(0x0101_0101);
    let sums = i32x4_relaxed_dot_i8x16_i7x16_add(ones, i32x4_splat(-1), i32x4_splat(0));
    i32x4_extract_lane::<0>(sums) > 0
}
