//! [`log_prob_without`]: the total probability of the tokens that are allowed, by which scores are renormalized.

/// Returns the logarithm of the total probability of all tokens but some, given the log-probabilities of a row, the
/// softmax of its logits.
///
/// Subtracts them from 1, if what is left is exact enough, that is more than half; else sums all others.
pub fn log_prob_without(log_probs: &(impl Iterator<Item = f32> + Clone), without: &[u32]) -> f32 {
    let sum = |is_without: bool, n: usize| -> f64 {
        let tokens = (0..).zip(log_probs.clone()).take(n);
        let tokens = tokens.filter(|(id, _)| without.contains(id) == is_without);
        tokens.map(|(_, log_prob)| f64::from(log_prob).exp()).sum()
    };
    let n_read = without.iter().max().map_or(0, |last| *last as usize + 1);
    let allowed = match sum(true, n_read) {
        excluded if excluded < 0.5 => 1.0 - excluded,
        _ => sum(false, usize::MAX),
    };
    allowed.ln() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER_GENERATED;

    #[test]
    fn the_total_without_a_token_is_exact_if_that_has_little_or_nearly_all_of_the_probability() {
        for largest in [-3.0_f64, 0.0, 5.0, 10.0, 30.0] {
            let logits: Vec<f64> = (0..1000).map(|id| f64::from(id == 1) * largest).collect();
            let sum_if = |is_in: fn(usize) -> bool| -> f64 {
                let tokens = logits.iter().enumerate().filter(|(id, _)| is_in(*id));
                tokens.map(|(_, logit)| logit.exp()).sum()
            };
            let log_total = sum_if(|_| true).ln();
            let log_probs = logits.iter().map(|logit| (logit - log_total) as f32);
            let expected = sum_if(|id| id > 2).ln() - log_total;
            let found = log_prob_without(&log_probs, &NEVER_GENERATED);
            let difference = (f64::from(found) - expected).abs();
            assert!(difference < 2e-6, "{largest}: {found}, {expected}");
        }
    }
}
