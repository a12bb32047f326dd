//! Log-softmax of rows of logits.

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::vector::{LANES, exp, max_and_sum};

/// Turns the logits of one row into log-probabilities: a maximum and a log-sum-exp.
///
/// Added up to a single number, they would lose precision where logits are large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Normalizer {
    /// The maximum of the logits.
    max: f32,
    /// `ln Σ exp(logit − max)`.
    ln_sum: f32,
}

impl Normalizer {
    /// Returns the log-probability of a logit, in nats. The default normalizer changes nothing.
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
            for (sum, logit) in sums.iter_mut().zip(chunk) {
                *sum += exp(*logit - max);
            }
        }
        let rest = rest.iter().map(|logit| exp(*logit - max));
        let sum = sums.iter().sum::<f32>() + rest.sum::<f32>();
        Self {
            max,
            ln_sum: sum.ln(),
        }
    }
}

/// A call of [`Normalizer::of_row`] that is compiled for the vectors of the processor. The compiler does not do that
/// for every closure.
struct Normalize<'a> {
    row: &'a [f32],
}

impl NullaryFnOnce for Normalize<'_> {
    type Output = Normalizer;

    #[inline(always)]
    fn call(self) -> Normalizer {
        Normalizer::of_row(self.row)
    }
}

/// Replaces rows of logits by their log-softmax, in nats, on the current rayon pool.
///
/// A row that contains NaN or +∞, or only −∞, becomes NaN.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide the number of elements.
///
/// # Example
///
/// ```
/// let mut rows = [0.0, 0.0, 7.0, f32::NEG_INFINITY];
/// transformer_core::cpu::log_softmax(&mut rows, 2);
/// assert!((rows[0] + 2.0_f32.ln()).abs() < 1e-6 && rows[1] == rows[0]);
/// assert!(rows[2].abs() < 1e-6 && rows[3] == f32::NEG_INFINITY);
/// ```
pub fn log_softmax(rows: &mut [f32], width: usize) {
    assert!(
        rows.len().is_multiple_of(width),
        "`width` divides the number of elements"
    );
    let arch = Arch::new();
    rows.par_chunks_mut(width).for_each(|row| {
        let normalizer = arch.dispatch(Normalize { row });
        for logit in row {
            *logit = normalizer.log_prob(*logit);
        }
    });
}

/// Returns the normalizer of every row of logits, computed on the current rayon pool.
///
/// The log-probabilities of a row that contains NaN or +∞, or only −∞, are NaN.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide the number of elements.
pub fn normalizers(rows: &[f32], width: usize) -> Vec<Normalizer> {
    assert!(
        rows.len().is_multiple_of(width),
        "`width` divides the number of elements"
    );
    let arch = Arch::new();
    let rows = rows.par_chunks(width);
    rows.map(|row| arch.dispatch(Normalize { row })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_softmax_equals_its_definition() {
        for width in [1, 5, 32, 77] {
            let logit = |index: usize| ((index * 37) % 101) as f32 / 3.0 - 20.0;
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
    fn large_logits_do_not_round_away_the_log_sum_exp() {
        let mut rows = [1e8, 1e8, -1e8, -1e8];
        log_softmax(&mut rows, 2);
        assert!(rows.iter().all(|it| (it + 2.0_f32.ln()).abs() < 1e-6));
    }

    #[test]
    fn a_row_without_probabilities_is_nan_and_does_not_change_the_others() {
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
