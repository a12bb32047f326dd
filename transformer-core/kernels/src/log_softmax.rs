//! Log-softmax of rows of logits.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::instruction_set;
use super::vector::{LANES, exp};

/// Number of logits with one maximum in a [`LogitSummary`]: a multiple of the lanes of every processor's vectors.
const CHUNK: usize = 128;

/// Number of partial maxima, so that comparisons need not wait for each other.
const PARTS: usize = 4;

/// Turns the logits of one row into log-probabilities, with a maximum and a log-sum-exp.
///
/// Their sum as a single number would lose precision where logits are large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Normalizer {
    /// The maximum of the logits.
    max: f32,
    /// `ln Σ exp(logit − max)`.
    ln_sum: f32,
}

impl Normalizer {
    /// Returns the log-probability of a logit, in nats. The default normalizer changes nothing.
    #[inline(always)]
    fn log_prob(self, logit: f32) -> f32 {
        (logit - self.max) - self.ln_sum
    }

    #[inline(always)]
    fn of_row(row: &[f32], max: f32) -> Self {
        let (chunks, rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for chunk in chunks {
            for (sum, logit) in sums.iter_mut().zip(chunk) {
                *sum += exp(*logit - max);
            }
        }
        let mut sum: f32 = sums.iter().sum();
        for logit in rest {
            sum += exp(*logit - max);
        }
        Self {
            max,
            ln_sum: sum.ln(),
        }
    }
}

/// Block maxima of a row of logits, for top-k without a second pass over the row.
#[derive(Clone, Debug, PartialEq)]
pub struct LogitSummary {
    normalizer: Normalizer,
    /// The maximum of every chunk, ignoring NaN; −∞ without another number.
    maxima: Vec<f32>,
}

impl LogitSummary {
    /// Returns the summary of a row of log-probabilities.
    pub fn of_log_probs(log_probs: &[f32]) -> Self {
        Self {
            normalizer: Normalizer::default(),
            maxima: instruction_set().dispatch(Maxima { row: log_probs }),
        }
    }

    /// Returns the log-probability of a logit, in nats.
    #[inline(always)]
    pub fn log_prob(&self, logit: f32) -> f32 {
        self.normalizer.log_prob(logit)
    }

    /// Returns the chunks of the row that can contain one of the `k` largest logits: the index of the first logit, and
    /// the logits. For every other chunk, at least `k` chunks have a larger maximum.
    pub fn chunks_with_largest<'a>(
        &'a self,
        row: &'a [f32],
        k: usize,
    ) -> impl Iterator<Item = (usize, &'a [f32])> {
        let mut sorted = self.maxima.clone();
        let least = match k.checked_sub(1) {
            Some(index) if index < sorted.len() => {
                let (_, least, _) = sorted.select_nth_unstable_by(index, |a, b| b.total_cmp(a));
                *least
            }
            Some(_) => f32::NEG_INFINITY,
            None => f32::INFINITY,
        };
        let least = self.log_prob(least);
        let chunks = row.chunks(CHUNK).zip(&self.maxima).enumerate();
        chunks.filter_map(move |(index, (chunk, max))| {
            (self.log_prob(*max) >= least).then_some((index * CHUNK, chunk))
        })
    }
}

struct Maxima<'a> {
    row: &'a [f32],
}

impl WithSimd for Maxima<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let mut maxima = Vec::with_capacity(self.row.len().div_ceil(CHUNK));
        for chunk in self.row.chunks(CHUNK) {
            let (vectors, rest) = S::as_simd_f32s(chunk);
            let (groups, singles) = vectors.as_chunks::<PARTS>();
            let mut parts = [simd.splat_f32s(f32::NEG_INFINITY); PARTS];
            for group in groups {
                for part in 0..PARTS {
                    parts[part] = larger(simd, group[part], parts[part]);
                }
            }
            for single in singles {
                parts[0] = larger(simd, *single, parts[0]);
            }
            let [a, b, c, d] = parts;
            let max = simd.max_f32s(simd.max_f32s(a, b), simd.max_f32s(c, d));
            let max = rest
                .iter()
                .copied()
                .fold(simd.reduce_max_f32s(max), f32::max);
            maxima.push(max);
        }
        maxima
    }
}

/// Returns the larger numbers, and `maxima` where `values` has NaN.
#[inline(always)]
fn larger<S: Simd>(simd: S, values: S::f32s, maxima: S::f32s) -> S::f32s {
    simd.select_f32s(simd.greater_than_f32s(values, maxima), values, maxima)
}

/// A call of [`Normalizer::of_row`], compiled for the vectors of the processor. The compiler does not do that for every
/// closure.
struct Summarize<'a> {
    row: &'a [f32],
}

impl WithSimd for Summarize<'_> {
    type Output = LogitSummary;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> LogitSummary {
        let maxima = Maxima { row: self.row }.with_simd(simd);
        let max = maxima.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        LogitSummary {
            normalizer: Normalizer::of_row(self.row, max),
            maxima,
        }
    }
}

struct LogSoftmax<'a> {
    row: &'a mut [f32],
}

impl WithSimd for LogSoftmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let summary = Summarize { row: self.row }.with_simd(simd);
        for logit in self.row {
            *logit = summary.log_prob(*logit);
        }
    }
}

/// Replaces rows of logits by their log-softmax, in nats, on the current rayon pool.
///
/// A row that contains NaN or +∞, or only −∞, becomes NaN.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide the number of elements.
#[inline(never)]
pub fn log_softmax(rows: &mut [f32], width: usize) {
    assert!(
        rows.len().is_multiple_of(width),
        "`width` divides the number of elements"
    );
    let arch = instruction_set();
    rows.par_chunks_mut(width)
        .for_each(|row| arch.dispatch(LogSoftmax { row }));
}

/// Returns the summary of every row of logits, computed on the current rayon pool.
///
/// The log-probabilities of a row that contains NaN or +∞, or only −∞, are NaN.
///
/// # Panics
///
/// Panics if the width is 0, or does not divide the number of elements.
#[inline(never)]
pub fn summarize_logits(rows: &[f32], width: usize) -> Vec<LogitSummary> {
    assert!(
        rows.len().is_multiple_of(width),
        "`width` divides the number of elements"
    );
    let arch = instruction_set();
    let rows = rows.par_chunks(width);
    rows.map(|row| arch.dispatch(Summarize { row })).collect()
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
            let rows = logits.chunks(width).zip(summarize_logits(&logits, width));
            for ((row, summary), found) in rows.zip(found.chunks(width)) {
                let sum: f64 = row.iter().map(|&z| f64::from(z).exp()).sum();
                for (found, &logit) in found.iter().zip(row) {
                    assert!((f64::from(*found) - (f64::from(logit) - sum.ln())).abs() < 1e-5);
                    assert_eq!(*found, summary.log_prob(logit));
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
            assert!(summarize_logits(&rows, 2)[0].log_prob(0.0).is_nan());
            log_softmax(&mut rows, 2);
            assert!(rows[0].is_nan() && rows[1].is_nan());
            assert_eq!(rows[2..], [0.0, f32::NEG_INFINITY]);
        }
    }

    #[test]
    fn maxima_of_chunks_ignore_nan() {
        for len in [1, 127, 128, 300] {
            let mut row: Vec<f32> = (0..len).map(|i| ((i * 37) % 101) as f32 - 200.0).collect();
            row[len / 2] = f32::NAN;
            let expected = row
                .chunks(CHUNK)
                .map(|chunk| chunk.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let found = LogitSummary::of_log_probs(&row).maxima;
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_chunks_with_the_largest_logits_include_equal_ones() {
        let mut row = vec![0.0; 5 * CHUNK];
        for (index, logit) in [(0, 3.0), (200, 9.0), (300, 3.0), (600, 5.0)] {
            row[index] = logit;
        }
        let summary = LogitSummary::of_log_probs(&row);
        let starts = |k: usize| -> Vec<usize> {
            let chunks = summary.chunks_with_largest(&row, k);
            chunks.map(|(start, _)| start / CHUNK).collect()
        };
        assert!(starts(0).is_empty());
        assert_eq!(starts(1), [1]);
        assert_eq!(starts(2), [1, 4]);
        assert_eq!(starts(3), [0, 1, 2, 4]);
        assert_eq!(starts(99), [0, 1, 2, 3, 4]);
    }
}
