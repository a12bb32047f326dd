//! Coverage (Wu et al. 2016, Eq. 14, <https://arxiv.org/abs/1609.08144>): how much of a source an output
//! has looked at.

/// Returns `Σᵢ ln(min(attendedᵢ, 1))`: 0 where every source token got attention of at least 1 in all,
/// below 0 elsewhere.
///
/// A token that got none at all counts as if it got the smallest normal f32, so that the sum is finite.
pub(super) fn coverage(attended: &[f32]) -> f64 {
    let of_token = |sum: &f32| f64::from(sum.clamp(f32::MIN_POSITIVE, 1.0)).ln();
    attended.iter().map(of_token).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_beyond_one_counts_as_one() {
        assert_eq!(coverage(&[1.0, 2.5]), 0.0);
    }

    #[test]
    fn a_quarter_and_a_half_are_an_eighth() {
        assert!((coverage(&[0.25, 0.5, 3.0]) - 0.125_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn no_attention_is_a_finite_number() {
        assert!(coverage(&[0.0]).is_finite());
    }

    #[test]
    fn a_model_without_attention_covers_everything() {
        assert_eq!(coverage(&[]), 0.0);
    }
}
