//! Sums of integers by WebAssembly's sums of two products of 16 bits.

use std::arch::wasm32::{
    i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_splat, v128,
};

use super::{Step, SumIntegers, Sums, WIDTH};

/// Number of activations that are multiplied at once.
pub(super) const GROUP: usize = 2;

/// Maximum number of rows that are multiplied by a panel at once.
pub(super) const MAX_ROWS: usize = 2;

/// The vector instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel;

impl Kernel {
    pub(super) fn new() -> Self {
        Self
    }
}

impl SumIntegers for Kernel {
    fn group(self, group: &[i8]) -> i32 {
        let [first, second] = [group[0], *group.get(1).unwrap_or(&0)].map(i16::from);
        i32::from(first) & 0xffff | i32::from(second) << 16
    }

    #[inline(always)]
    fn run(self, function: impl FnOnce()) {
        function();
    }

    #[inline(always)]
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        match rows.split_at(panel.len()) {
            (row, []) => {
                let [sums] = sum(panel, start, [row]);
                [sums, *start]
            }
            (first, second) => sum(panel, start, [first, second]),
        }
    }
}

#[inline(always)]
fn sum<const N: usize>(
    panel: &[Step],
    start: &[i32; WIDTH],
    rows: [&[i32]; N],
) -> [[i32; WIDTH]; N] {
    let rows = rows.map(|row| &row[..panel.len()]);
    let mut sums: [[v128; WIDTH / 4]; N] = [bytemuck::cast(*start); N];
    for (k, Step(step)) in panel.iter().enumerate() {
        let [left, right]: [v128; 2] = bytemuck::cast(*step);
        let weights = [
            i16x8_extend_low_i8x16(left),
            i16x8_extend_high_i8x16(left),
            i16x8_extend_low_i8x16(right),
            i16x8_extend_high_i8x16(right),
        ];
        for row in 0..N {
            let pair = i32x4_splat(rows[row][k]);
            for (sum, weights) in sums[row].iter_mut().zip(weights) {
                *sum = i32x4_add(*sum, i32x4_dot_i16x8(weights, pair));
            }
        }
    }
    sums.map(|sums| bytemuck::cast(sums))
}
