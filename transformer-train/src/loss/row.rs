//! One row of logits: its loss, and the gradient that takes its place.
//!
//! The C library's exponential, which the backends use, takes one number at a time.

/// Numbers that are reduced side by side, so that the compiler can hold them in vectors.
const LANES: usize = 32;

/// Holds what the loss and the gradient of every token are made of.
pub(super) struct Terms {
    /// Share of the target that all tokens have equally.
    pub(super) epsilon: f64,
    /// What the gradient is multiplied by, where one is wanted.
    pub(super) scale: Option<f64>,
}

impl Terms {
    /// Returns `−log p` of the gold token and its mean over all tokens; turns the row of logits into their gradient,
    /// if there is a scale.
    #[inline(always)]
    pub(super) fn of_row(&self, row: &mut [f32], bias: Option<&[f32]>, gold: usize) -> [f64; 2] {
        if let Some(bias) = bias {
            for (logit, bias) in row.iter_mut().zip(bias) {
                *logit += bias;
            }
        }
        let of_gold = f64::from(row[gold]);
        let (max, sum) = max_and_sum(row);
        let normalizer = replace_by_exponentials(row, max);
        let log_normalizer = f64::from(normalizer).ln() + f64::from(max);
        if let Some(scale) = self.scale {
            let factor = (scale / f64::from(normalizer)) as f32;
            let of_each = (self.epsilon * scale / row.len() as f64) as f32;
            for number in row.iter_mut() {
                *number = *number * factor - of_each;
            }
            row[gold] -= ((1.0 - self.epsilon) * scale) as f32;
        }
        let mean = f64::from(sum) / row.len() as f64;
        [log_normalizer - of_gold, log_normalizer - mean]
    }
}

/// Replaces every number by `exp(number − max)` and returns the sum.
#[inline(always)]
fn replace_by_exponentials(row: &mut [f32], max: f32) -> f32 {
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
fn max_and_sum(row: &[f32]) -> (f32, f32) {
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
fn exp(x: f32) -> f32 {
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
    fn a_logit_that_is_no_number_or_infinite_makes_the_loss_no_number() {
        let terms = Terms {
            epsilon: 0.1,
            scale: None,
        };
        for bad in [f32::NAN, f32::INFINITY] {
            let mut row = vec![0.5; 64];
            row[1] = bad;
            assert!(terms.of_row(&mut row, None, 0).iter().all(|it| it.is_nan()));
        }
    }
}
