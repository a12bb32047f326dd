//! Rows of numbers in memory: the exponentials and the sums of which probabilities are made.
//!
//! The C library's exponential, which Burn's backends use, takes one number at a time; this one is made of steps that a
//! compiler makes vectors of, wherever [`Arch::dispatch`](pulp::Arch::dispatch) tells it what the processor can do.

use pulp::Arch;
use rayon::prelude::*;

/// Numbers that are reduced side by side, so that the compiler can hold them in vectors.
const LANES: usize = 32;

/// Turns the logits of a row into log-probabilities.
///
/// The logarithm of the sum of their exponentials would be one number, but one that rounds away what a large logit leaves
/// of the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Normalizer {
    /// The largest logit.
    max: f32,
    /// `ln Σ exp(logit − max)`.
    ln_sum: f32,
}

impl Normalizer {
    /// Returns the log-probability of a token, in nats. The default normalizer leaves what is one already.
    #[inline(always)]
    pub fn log_prob(self, logit: f32) -> f32 {
        (logit - self.max) - self.ln_sum
    }

    #[inline(always)]
    fn of_row(row: &[f32]) -> Self {
        let (max, _) = max_and_sum(row);
        let (chunks, rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for chunk in chunks {
            for (sum, number) in sums.iter_mut().zip(chunk) {
                *sum += exp(*number - max);
            }
        }
        let rest = rest.iter().map(|number| exp(*number - max));
        let sum = sums.iter().sum::<f32>() + rest.sum::<f32>();
        Self {
            max,
            ln_sum: sum.ln(),
        }
    }
}

/// Replaces rows of logits by the logarithms of their softmax, in nats, on the threads of the rayon pool that it is
/// called in.
///
/// A row with a NaN or +∞ in it, or of nothing but −∞, is NaN throughout.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide how many numbers there are.
///
/// # Example
///
/// ```
/// let mut rows = [0.0, 0.0, 7.0, f32::NEG_INFINITY];
/// transformer_core::rows::log_softmax(&mut rows, 2);
/// assert!((rows[0] + 2.0_f32.ln()).abs() < 1e-6 && rows[1] == rows[0]);
/// assert!(rows[2].abs() < 1e-6 && rows[3] == f32::NEG_INFINITY);
/// ```
pub fn log_softmax(rows: &mut [f32], width: usize) {
    assert!(rows.len().is_multiple_of(width), "rows are whole");
    let arch = Arch::new();
    rows.par_chunks_mut(width).for_each(|row| {
        arch.dispatch(|| {
            let normalizer = Normalizer::of_row(row);
            for number in row {
                *number = normalizer.log_prob(*number);
            }
        });
    });
}

/// Returns what turns the logits of every row into log-probabilities, on the threads of the rayon pool that it is called
/// in; these are NaN where a row has a NaN or +∞ in it, or nothing but −∞.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide how many numbers there are.
pub fn normalizers(rows: &[f32], width: usize) -> Vec<Normalizer> {
    assert!(rows.len().is_multiple_of(width), "rows are whole");
    let arch = Arch::new();
    let rows = rows.par_chunks(width);
    rows.map(|row| arch.dispatch(|| Normalizer::of_row(row)))
        .collect()
}

/// Replaces every number by `exp(number − max)` and returns the sum; no number may exceed `max`.
#[inline(always)]
pub fn replace_by_exponentials(row: &mut [f32], max: f32) -> f32 {
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *number = exp(*number - max);
            *sum += *number;
        }
    }
    let mut sum: f32 = sums.iter().sum();
    for number in rest {
        *number = exp(*number - max);
        sum += *number;
    }
    sum
}

/// Returns the largest number that is one, and the sum; what is none makes itself felt in the sum.
#[inline(always)]
pub fn max_and_sum(row: &[f32]) -> (f32, f32) {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut maxima = [f32::NEG_INFINITY; LANES];
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for ((max, sum), &number) in maxima.iter_mut().zip(&mut sums).zip(chunk) {
            *max = larger(*max, number);
            *sum += number;
        }
    }
    let max = maxima.iter().chain(rest).copied();
    let sum = sums.iter().chain(rest).sum();
    (max.fold(f32::NEG_INFINITY, larger), sum)
}

/// Computes `exp(x)` for `x ≤ 0`, with steps that a compiler makes vectors of; below −87, `exp(−87)` (1.6e-38).
///
/// `exp(x) = 2ⁿ·exp(r)` with the nearest whole `n` to `x/ln 2`, and `|r| ≤ ln 2 / 2`, where Taylor's series up to
/// `r⁷` misses by less than a tenth of a unit in the last place.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// 1.5·2²³: added to a small number, it leaves the nearest whole one in the last bits.
    const SHIFT: f32 = 12_582_912.0;
    /// `ln 2` in two parts, of which the first has few enough bits for its multiples to be exact.
    const LN_2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];
    const EXPONENT_OF_ONE: u32 = 127;
    const MANTISSA_BITS: u32 = 23;

    // Not `max`, to which a NaN would be nothing.
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

    #[test]
    fn the_exponential_is_right_to_two_units_in_the_last_place() {
        let n = 1_000_000;
        for i in 0..=n {
            let x = -87.0 * (i as f32 / n as f32);
            let exact = f64::from(x).exp();
            let apart = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(
                apart < 2.0 * f64::from(f32::EPSILON),
                "exp({x}) is {apart} off"
            );
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 2e-38 && exp(f32::NEG_INFINITY) < 2e-38);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn every_row_has_its_maximum_its_sum_and_its_exponentials() {
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

    #[test]
    fn rows_of_log_probabilities_are_those_of_the_definition() {
        for width in [1, 5, 32, 77] {
            let logit = |place: usize| ((place * 37) % 101) as f32 / 3.0 - 20.0;
            let logits: Vec<f32> = (0..3 * width).map(logit).collect();
            let mut found = logits.clone();
            log_softmax(&mut found, width);
            let rows = logits.chunks(width).zip(normalizers(&logits, width));
            for ((row, normalizer), found) in rows.zip(found.chunks(width)) {
                let sum: f64 = row.iter().map(|&z| f64::from(z).exp()).sum();
                for (found, &logit) in found.iter().zip(row) {
                    assert!((f64::from(*found) - (f64::from(logit) - sum.ln())).abs() < 1e-5);
                    assert_eq!(*found, normalizer.log_prob(logit));
                }
            }
        }
    }

    #[test]
    fn a_large_logit_leaves_the_logarithm_of_the_sum_as_it_is() {
        let mut rows = [1e8, 1e8, -1e8, -1e8];
        log_softmax(&mut rows, 2);
        assert!(rows.iter().all(|it| (it + 2.0_f32.ln()).abs() < 1e-6));
    }

    #[test]
    fn a_row_without_probabilities_is_no_number_and_leaves_the_others() {
        for bad in [
            [f32::NAN, 0.0],
            [f32::INFINITY, 0.0],
            [f32::NEG_INFINITY; 2],
        ] {
            let mut rows = [bad, [0.0, f32::NEG_INFINITY]].concat();
            assert!(normalizers(&rows, 2)[0].log_prob(0.0).is_nan());
            log_softmax(&mut rows, 2);
            assert!(rows[0].is_nan() && rows[1].is_nan());
            assert_eq!(rows[2..], [0.0, f32::NEG_INFINITY]);
        }
    }
}
