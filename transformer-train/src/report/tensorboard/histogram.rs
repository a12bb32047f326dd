//! Histograms of the values of a tensor.

use prost::Message;

/// Number of bins; TensorBoard shows 30.
const N_BINS: usize = 64;

/// Number of values in each of [`N_BINS`] bins of equal width: TensorFlow's `histogram.proto`.
#[derive(PartialEq, Message)]
pub(super) struct Histogram {
    /// The least finite value.
    #[prost(double, required, tag = "1")]
    pub(super) min: f64,
    /// The greatest finite value.
    #[prost(double, required, tag = "2")]
    pub(super) max: f64,
    /// Number of finite values; others are left out.
    #[prost(double, required, tag = "3")]
    pub(super) n_values: f64,
    #[prost(double, required, tag = "4")]
    pub(super) sum: f64,
    #[prost(double, required, tag = "5")]
    pub(super) sum_of_squares: f64,
    /// The upper edge of each bin.
    #[prost(double, repeated, tag = "6")]
    pub(super) edges: Vec<f64>,
    /// The number of values in each bin.
    #[prost(double, repeated, tag = "7")]
    pub(super) counts: Vec<f64>,
}

impl Histogram {
    /// Counts values. `None` if none is finite.
    pub(super) fn of(values: &[f32]) -> Option<Self> {
        let finite = || values.iter().filter(|value| value.is_finite());
        let finite = || finite().map(|value| f64::from(*value));
        let (lo, hi) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| {
            (lo.min(value), hi.max(value))
        });
        if lo > hi {
            return None;
        }
        let width = (hi - lo) / N_BINS as f64;
        let mut counts = vec![0.0; N_BINS];
        for value in finite() {
            // If all values are equal, the width is 0: NaN becomes bin 0.
            let bin = ((value - lo) / width) as usize;
            counts[bin.min(N_BINS - 1)] += 1.0;
        }
        let edges = (1..=N_BINS).map(|bin| {
            if bin == N_BINS {
                hi
            } else {
                lo + bin as f64 * width
            }
        });
        Some(Self {
            min: lo,
            max: hi,
            n_values: counts.iter().sum(),
            sum: finite().sum(),
            sum_of_squares: finite().map(|value| value * value).sum(),
            edges: edges.collect(),
            counts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_is_in_the_bin_below_its_edge() {
        let values = [-1.0, 0.999, f32::NAN, 1.0, f32::INFINITY];
        let histogram = Histogram::of(&values).expect("three values are finite");
        assert_eq!((histogram.min, histogram.max), (-1.0, 1.0));
        let bins = histogram.edges.iter().zip(&histogram.counts);
        let filled: Vec<_> = bins.filter(|(_, n)| **n > 0.0).collect();
        assert_eq!(filled, [(&(-1.0 + 1.0 / 32.0), &1.0), (&1.0, &2.0)]);
        assert_eq!(histogram.n_values, 3.0);
    }

    #[test]
    fn equal_values_are_counted() {
        let histogram = Histogram::of(&[0.25; 7]).expect("all values are finite");
        assert_eq!(histogram.n_values, 7.0);
        assert_eq!((histogram.sum, histogram.sum_of_squares), (1.75, 0.4375));
    }

    #[test]
    fn values_that_are_not_finite_have_no_histogram() {
        assert_eq!(Histogram::of(&[f32::NAN]), None);
    }
}
