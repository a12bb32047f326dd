//! [`log_prob_without`]: the total probability of the tokens that are allowed, by which scores are renormalized.

/// Returns the logarithm of the total probability of all tokens but some, given the log-probabilities of a row, the
/// softmax of its logits.
///
/// Subtracts them from 1, if what is left is exact enough, that is more than half; else sums all others.
pub fn log_prob_without(log_probs: &(impl Iterator<Item = f32> + Clone), without: &[u32]) -> f32 {
    let n_read = without.iter().max().map_or(0, |last| *last as usize + 1);
    let tokens = (0..).zip(log_probs.clone()).take(n_read);
    let excluded = tokens.filter(|(id, _)| without.contains(id));
    let excluded = total(excluded.map(|(_, log_prob)| log_prob));
    if excluded < 0.5 {
        return (1.0 - excluded).ln() as f32;
    }
    log_sum_without(log_probs.clone(), without)
}

/// Returns the logarithm of the sum of the exponentials of all scores of a row but those of some tokens.
pub(crate) fn log_sum_without(scores: impl Iterator<Item = f32>, without: &[u32]) -> f32 {
    let others = (0..).zip(scores).filter(|(id, _)| !without.contains(id));
    total(others.map(|(_, score)| score)).ln() as f32
}

fn total(log_probs: impl Iterator<Item = f32>) -> f64 {
    log_probs.map(|log_prob| f64::from(log_prob).exp()).sum()
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
