//! Sums of integers by WebAssembly's relaxed sums of products of 8 bits.
//!
//! The npm package uses the module only in engines where a trial shows that one of the ways of [`Kernel`] is exact, for
//! activations from −127 to 127.

use std::arch::wasm32::{
    i8x16_splat, i16x8_abs, i16x8_gt, i16x8_relaxed_dot_i8x16_i7x16, i16x8_splat, i32x4_add,
    i32x4_dot_i16x8, i32x4_extract_lane, i32x4_relaxed_dot_i8x16_i7x16_add, i32x4_splat, v128,
    v128_any_true,
};
use std::array;

pub(super) use super::pairs::GROUP;
use super::{Activations, Step, SumIntegers, Sums, WIDTH, pairs};

/// Maximum number of rows that are multiplied by a panel at once.
pub(super) const MAX_ROWS: usize = 2;

/// The 32-bit sums of a row with a panel, or the weights of a step.
type Vectors = [v128; WIDTH / 4];

/// The bits that are flipped to add 128 to four activations, which makes them unsigned.
const FLIPS: u32 = 0x8080_8080;

/// The sums of products that are exact in an engine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    /// Four, of signed integers, as Arm's instructions do it.
    Signed,
    /// Four, with the second operand unsigned, as AVX-VNNI's instructions do it.
    Unsigned,
    /// Two, with the second operand unsigned, as AVX2's instruction does it (see [`pairs`]).
    Pairs,
}

impl Kernel {
    pub(super) fn new() -> Self {
        new()
    }
}

impl SumIntegers for Kernel {
    fn added(self) -> u8 {
        match self {
            Self::Unsigned => FLIPS as u8,
            Self::Signed | Self::Pairs => 0,
        }
    }

    fn weight(self, weight: i8) -> i8 {
        match self {
            Self::Pairs => pairs::weight(weight),
            Self::Signed | Self::Unsigned => weight,
        }
    }

    fn group(self, group: &[i8]) -> i32 {
        // Weights after the last one are zeros.
        let byte = |index| group.get(index).map_or(0, |it| *it as u8);
        let bytes = u32::from_ne_bytes(array::from_fn(byte));
        match self {
            Self::Unsigned => (bytes ^ FLIPS) as i32,
            Self::Signed | Self::Pairs => bytes as i32,
        }
    }

    #[inline(always)]
    fn push_row(self, row: &[i8], activations: &mut Activations) {
        match self {
            Self::Pairs => pairs::push_row(
                row,
                activations,
                #[inline(always)]
                |groups: [i32; 4]| sum_pairs(bytemuck::cast(groups)),
            ),
            Self::Signed | Self::Unsigned => self.push_groups(row, activations),
        }
    }

    #[inline(always)]
    fn run(self, function: impl FnOnce()) {
        run(function);
    }

    #[inline(always)]
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        match self {
            Self::Pairs => sum(panel, start, rows, add_pairs),
            Self::Signed | Self::Unsigned => sum(panel, start, rows, add),
        }
    }

    #[inline(always)]
    fn add_rest(
        self,
        panel: &[Step],
        activations: &Activations,
        row: usize,
        sums: &mut [i32; WIDTH],
    ) {
        if let Self::Pairs = self {
            let (constant, apart) = pairs::rest(activations, row);
            let constant = i32x4_splat(constant);
            let mut vectors: Vectors = bytemuck::cast(*sums);
            for sum in &mut vectors {
                *sum = i32x4_add(*sum, constant);
            }
            for (step, group) in apart {
                add_pairs(&mut vectors, &panel[*step], *group);
            }
            *sums = bytemuck::cast(vectors);
        }
    }
}

/// Runs a function. Relaxed sums become one instruction only within a function that has it.
#[target_feature(enable = "relaxed-simd")]
fn run(function: impl FnOnce()) {
    function();
}

#[inline(always)]
fn sum(
    panel: &[Step],
    start: &[i32; WIDTH],
    rows: &[i32],
    add: impl Fn(&mut Vectors, &Step, i32),
) -> Sums {
    let start: Vectors = bytemuck::cast(*start);
    let (first, second) = rows.split_at(panel.len());
    let mut sums = [start; 2];
    if second.is_empty() {
        // Two sums of a row, so that an addition need not wait for the one before it.
        sums[1] = [i32x4_splat(0); WIDTH / 4];
        let ((steps, last), (groups, last_group)) = (panel.as_chunks(), first.as_chunks());
        for ([even, odd], [first, second]) in steps.iter().zip(groups) {
            add(&mut sums[0], even, *first);
            add(&mut sums[1], odd, *second);
        }
        for (step, group) in last.iter().zip(last_group) {
            add(&mut sums[0], step, *group);
        }
        sums[0] = array::from_fn(|part| i32x4_add(sums[0][part], sums[1][part]));
    } else {
        for (step, (first, second)) in panel.iter().zip(first.iter().zip(second)) {
            add(&mut sums[0], step, *first);
            add(&mut sums[1], step, *second);
        }
    }
    bytemuck::cast(sums)
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

/// Like [`add`], with two sums of two products.
#[inline(always)]
fn add_pairs(sums: &mut Vectors, Step(weights): &Step, group: i32) {
    let weights: Vectors = bytemuck::cast(*weights);
    let group = i32x4_splat(group);
    for (sum, weights) in sums.iter_mut().zip(weights) {
        let pairs = i16x8_relaxed_dot_i8x16_i7x16(group, weights);
        *sum = i32x4_add(*sum, i32x4_dot_i16x8(pairs, i16x8_splat(1)));
    }
}

/// Returns the sum of activations, and whether the products of all pairs are exact.
#[inline(always)]
fn sum_pairs(activations: v128) -> (i32, bool) {
    let pairs = i16x8_relaxed_dot_i8x16_i7x16(activations, i8x16_splat(1));
    let large = i16x8_gt(i16x8_abs(pairs), i16x8_splat(pairs::MAX_PAIR));
    let sums: [i32; 4] = bytemuck::cast(i32x4_dot_i16x8(pairs, i16x8_splat(1)));
    (sums.iter().sum(), !v128_any_true(large))
}

/// Finds out how the engine sums products.
#[target_feature(enable = "relaxed-simd")]
fn new() -> Kernel {
    let largest = i32x4_splat(0x7f7f_7f7f);
    let sums = i32x4_relaxed_dot_i8x16_i7x16_add(largest, i32x4_splat(-1), i32x4_splat(0));
    match i32x4_extract_lane::<0>(sums) {
        ..0 => Kernel::Signed,
        sum if sum == 4 * 127 * 255 => Kernel::Unsigned,
        _ => Kernel::Pairs,
    }
}
