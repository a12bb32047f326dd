//! Vectorized sums and exponentials over rows of `f32`.
//!
//! Burn's CPU backends call the C library's exponential element by element. The one here is written so that the
//! compiler vectorizes it for the processor's instructions inside [`Arch::dispatch`](pulp::Arch::dispatch). A struct
//! with an always-inlined method is dispatched, because a closure may be compiled outside, for the oldest processor.

/// Partial results of a reduction, so that the compiler can vectorize it.
pub(super) const LANES: usize = 32;

/// The same, in [`sum`].
const LANES_OF_SUM: usize = 16;

/// Number of elements that a thread processes as one task.
pub const BLOCK: usize = 1 << 14;

/// Returns the number of elements of a task that consists of whole rows.
pub fn block_len(width: usize) -> usize {
    (BLOCK / width).max(1) * width
}

/// Sums `function` over the elements with the same index in all rows. The order of the sum depends
/// only on the index, not on the processor.
#[inline(always)]
pub fn sum<const N: usize>(rows: [&[f32]; N], function: impl Fn([f32; N]) -> f32) -> f32 {
    let chunks = rows.map(|row| row.as_chunks::<LANES_OF_SUM>());
    let mut sums = [0.0_f32; LANES_OF_SUM];
    for chunk in 0..rows[0].len() / LANES_OF_SUM {
        let chunk = chunks.map(|(chunks, _)| &chunks[chunk]);
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += function(chunk.map(|chunk| chunk[lane]));
        }
    }
    let rests = chunks.map(|(_, rest)| rest);
    let rest = (0..rests[0].len()).map(|index| function(rests.map(|rest| rest[index])));
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

/// Replaces every element `x` by `exp(x − max)` and returns their sum; no element may exceed `max`.
#[inline(always)]
pub fn replace_by_exponentials(row: &mut [f32], max: f32) -> f32 {
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *value = exp(*value - max);
            *sum += *value;
        }
    }
    let mut sum: f32 = sums.iter().sum();
    for value in rest {
        *value = exp(*value - max);
        sum += *value;
    }
    sum
}

/// Returns the maximum, ignoring NaN, and the sum, which propagates NaN.
#[inline(always)]
pub fn max_and_sum(row: &[f32]) -> (f32, f32) {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut maxima = [f32::NEG_INFINITY; LANES];
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for ((max, sum), &value) in maxima.iter_mut().zip(&mut sums).zip(chunk) {
            *max = larger(*max, value);
            *sum += value;
        }
    }
    let max = maxima.iter().chain(rest).copied();
    let sum = sums.iter().chain(rest).sum();
    (max.fold(f32::NEG_INFINITY, larger), sum)
}

/// Computes `exp(x)` for `x ≤ 0` in steps that the compiler vectorizes; below −87 it returns `exp(−87)` (1.6e-38).
///
/// `exp(x) = 2ⁿ·exp(r)`, where `n` is `x/ln 2` rounded and `|r| ≤ ln 2 / 2`. The Taylor series of
/// `exp(r)` up to `r⁷` has an error of less than a tenth of a unit in the last place.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// 1.5·2²³: added to a small number, it gives a sum with the rounded number in its last bits.
    const SHIFT: f32 = 12_582_912.0;
    /// `ln 2` as a sum; the first part has few enough bits for its multiples to be exact.
    const LN_2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];
    const EXPONENT_OF_ONE: u32 = 127;
    const MANTISSA_BITS: u32 = 23;

    // Not `f32::max`, because that ignores NaN.
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let tail =
        1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0))));
    let series = 1.0 + (r + r * r * (0.5 + r * tail));
    let exponent = shifted
        .to_bits()
        .wrapping_sub(SHIFT.to_bits())
        .wrapping_add(EXPONENT_OF_ONE);
    series * f32::from_bits(exponent << MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{instruction_set, with_each_instruction_set};

    #[test]
    fn the_exponential_is_exact_to_two_units_in_the_last_place() {
        let n = 1_000_000;
        for i in 0..=n {
            let x = -87.0 * (i as f32 / n as f32);
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(
                error < 2.0 * f64::from(f32::EPSILON),
                "exp({x}) has a relative error of {error}"
            );
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 2e-38 && exp(f32::NEG_INFINITY) < 2e-38);
        assert!(exp(f32::NAN).is_nan());
    }

    /// The sums and exponentials of one row.
    struct AllOfARow<'a>(&'a [f32]);

    impl pulp::NullaryFnOnce for AllOfARow<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn call(self) -> Vec<u32> {
            let (max, total) = max_and_sum(self.0);
            let mut row = self.0.to_vec();
            let normalizer = replace_by_exponentials(&mut row, max);
            row.extend([max, total, normalizer, sum([self.0], |[x]| x * x + 1.0)]);
            row.iter().map(|x| x.to_bits()).collect()
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let row: Vec<f32> = (0..1003)
            .map(|i| ((i * 37) % 1009) as f32 / 31.0 - 9.0)
            .collect();
        let (expected, vectors) =
            with_each_instruction_set(|| instruction_set().dispatch(AllOfARow(&row)));
        for (arch, found) in vectors {
            assert_eq!(found, expected, "{arch:?}");
        }
    }

    #[test]
    fn maximum_sum_and_exponentials_of_a_row_equal_their_definitions() {
        for len in [1, 31, 32, 100] {
            let row: Vec<f32> = (0..len).map(|i| ((i * 37) % 101) as f32 / 3.0).collect();
            let (max, sum) = max_and_sum(&row);
            let exact: f64 = row.iter().map(|&z| f64::from(z)).sum();
            assert_eq!(max, row.iter().copied().fold(0.0, f32::max));
            assert!((f64::from(sum) - exact).abs() <= 1e-6 * exact);
            let mut found = row.clone();
            let normalizer = f64::from(replace_by_exponentials(&mut found, max));
            let expected = row.iter().map(|&z| f64::from(z - max).exp());
            let exact: f64 = expected.clone().sum();
            assert!((normalizer - exact).abs() < 1e-6 * exact);
            for (found, expected) in found.iter().zip(expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-6 * expected);
            }
        }
    }
}
