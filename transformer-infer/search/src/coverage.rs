//! Coverage (Wu et al. 2016, Eq. 14, <https://arxiv.org/abs/1609.08144>): the extent to which an output has attended to
//! its source.

/// Returns `Σᵢ ln(min(attendedᵢ, 1))`, where `attendedᵢ` is the total attention to source token `i`: 0 if every token
/// got at least 1, negative otherwise.
///
/// No attention counts as the smallest normal `f32`, so that the sum is finite.
pub(super) fn coverage(attended: &[f32]) -> f64 {
    let term = |sum: &f32| f64::from(sum.clamp(f32::MIN_POSITIVE, 1.0)).ln();
    attended.iter().map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_above_one_counts_as_one() {
        assert_eq!(coverage(&[1.0, 2.5]), 0.0);
    }

    #[test]
    fn the_logarithms_of_a_quarter_and_a_half_are_added() {
        assert!((coverage(&[0.25, 0.5, 3.0]) - 0.125_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn coverage_without_attention_is_finite() {
        assert!(coverage(&[0.0]).is_finite());
    }

    #[test]
    fn a_model_that_reports_no_attention_is_not_penalized() {
        assert_eq!(coverage(&[]), 0.0);
    }
}
