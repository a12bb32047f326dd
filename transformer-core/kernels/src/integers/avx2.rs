//! Sums of integers by AVX2's sums of two products of 16 bits. Its sums of two products of 8 bits saturate at 16 bits, so
//! they would not be exact.

use std::arch::x86_64::__m256i;
use std::array;

use pulp::x86::V3;

pub(super) use super::portable::{GROUP, MAX_ROWS};
use super::{Step, Sums, WIDTH, portable};

/// The vector instructions, if the processor has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel(Option<V3>);

impl Kernel {
    pub(super) fn new() -> Self {
        Self(V3::try_new())
    }

    #[cfg(test)]
    pub(super) fn portable() -> Self {
        Self(None)
    }

    /// Returns what is added to activations.
    pub(super) fn added(self) -> u8 {
        portable::Kernel::new().added()
    }

    pub(super) fn group(self, group: &[i8]) -> i32 {
        portable::Kernel::new().group(group)
    }

    /// Runs a function that calls [`sum`](Self::sum).
    #[inline(always)]
    pub(super) fn run(self, function: impl FnOnce()) {
        match self.0 {
            Some(simd) => simd.vectorize(function),
            None => portable::Kernel::new().run(function),
        }
    }

    /// Returns `start` plus the products of rows of groups with a panel.
    #[inline(always)]
    pub(super) fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        let Some(simd) = self.0 else {
            return portable::Kernel::new().sum(panel, start, rows);
        };
        match rows.len() / panel.len() {
            1 => sum::<1>(simd, panel, start, rows),
            2 => sum::<2>(simd, panel, start, rows),
            3 => sum::<3>(simd, panel, start, rows),
            _ => sum::<MAX_ROWS>(simd, panel, start, rows),
        }
    }
}

#[inline(always)]
fn sum<const N: usize>(simd: V3, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
    let rows: [&[i32]; N] = array::from_fn(
        #[inline(always)]
        |row| &rows[row * panel.len()..][..panel.len()],
    );
    let mut sums: [[__m256i; 2]; N] = [bytemuck::cast(*start); N];
    for (k, Step(step)) in panel.iter().enumerate() {
        let (halves, _) = step.as_chunks::<WIDTH>();
        let weights = [
            simd.avx2._mm256_cvtepi8_epi16(bytemuck::cast(halves[0])),
            simd.avx2._mm256_cvtepi8_epi16(bytemuck::cast(halves[1])),
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
        *found = bytemuck::cast(sums);
    }
    found
}
