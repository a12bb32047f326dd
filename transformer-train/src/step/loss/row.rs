//! One row of logits: its loss, and the gradient that takes its place.

use transformer_core::cpu::{max_and_sum, replace_by_exponentials};

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

#[cfg(test)]
mod tests {
    use super::*;

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
