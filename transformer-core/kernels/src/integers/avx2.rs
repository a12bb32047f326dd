//! Sums of integers by AVX2's sums of two products of 8 bits, which saturate at 16 bits (see [`pairs`]).

use std::arch::x86_64::__m256i;
use std::array;

use pulp::x86::V3;

pub(super) use super::portable::{GROUP, MAX_ROWS};
use super::{Activations, Step, SumIntegers, Sums, WIDTH, pairs, portable};

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
}

impl SumIntegers for Kernel {
    fn weight(self, weight: i8) -> i8 {
        self.0.map_or(weight, |_| pairs::weight(weight))
    }

    fn group(self, group: &[i8]) -> i32 {
        portable::Kernel::new().group(group)
    }

    #[inline(always)]
    fn push_row(self, row: &[i8], activations: &mut Activations) {
        match self.0 {
            Some(simd) => pairs::push_row(
                row,
                activations,
                #[inline(always)]
                |groups: [i32; 8]| sum_pairs(simd, bytemuck::cast(groups)),
            ),
            None => self.push_groups(row, activations),
        }
    }

    #[inline(always)]
    fn run(self, function: impl FnOnce()) {
        match self.0 {
            Some(simd) => simd.vectorize(function),
            None => portable::Kernel::new().run(function),
        }
    }

    #[inline(always)]
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
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

    #[inline(always)]
    fn add_rest(
        self,
        panel: &[Step],
        activations: &Activations,
        row: usize,
        sums: &mut [i32; WIDTH],
    ) {
        let Some(simd) = self.0 else {
            return;
        };
        let (constant, apart) = pairs::rest(activations, row);
        let constant = simd.avx._mm256_set1_epi32(constant);
        let mut vectors: [__m256i; 2] = bytemuck::cast(*sums);
        for sum in &mut vectors {
            *sum = simd.avx2._mm256_add_epi32(*sum, constant);
        }
        for (step, group) in apart {
            let weights = bytemuck::cast(panel[*step].0);
            add_products(simd, weights, *group, &mut vectors);
        }
        *sums = bytemuck::cast(vectors);
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
        let weights: [__m256i; 2] = bytemuck::cast(*step);
        for row in 0..N {
            add_products(simd, weights, rows[row][k], &mut sums[row]);
        }
    }
    let mut found = [[0; WIDTH]; MAX_ROWS];
    for (found, sums) in found.iter_mut().zip(sums) {
        *found = bytemuck::cast(sums);
    }
    found
}

/// Adds the products of four weights of each column with a group.
#[inline(always)]
fn add_products(simd: V3, weights: [__m256i; 2], group: i32, sums: &mut [__m256i; 2]) {
    let ones = simd.avx._mm256_set1_epi16(1);
    let group = simd.avx._mm256_set1_epi32(group);
    for part in 0..2 {
        let pairs = simd.avx2._mm256_maddubs_epi16(weights[part], group);
        let products = simd.avx2._mm256_madd_epi16(pairs, ones);
        sums[part] = simd.avx2._mm256_add_epi32(sums[part], products);
    }
}

/// Returns the sum of activations, and whether the products of all pairs are exact.
#[inline(always)]
fn sum_pairs(simd: V3, activations: __m256i) -> (i32, bool) {
    let ones = simd.avx._mm256_set1_epi8(1);
    let pairs = simd.avx2._mm256_maddubs_epi16(ones, activations);
    let largest = simd.avx._mm256_set1_epi16(pairs::MAX_PAIR);
    let large = simd
        .avx2
        ._mm256_cmpgt_epi16(simd.avx2._mm256_abs_epi16(pairs), largest);
    let sums = simd
        .avx2
        ._mm256_madd_epi16(pairs, simd.avx._mm256_set1_epi16(1));
    let sums: [i32; 8] = bytemuck::cast(sums);
    (
        sums.iter().sum(),
        simd.avx2._mm256_movemask_epi8(large) == 0,
    )
}
