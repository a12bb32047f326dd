//! Normalization and residual sums of rows.

use pulp::NullaryFnOnce;

use super::instruction_set;
use super::vector::sum;

/// `γ`, `β` and `ε` of a normalization.
#[derive(Debug)]
pub struct Norm {
    /// `γ`: `[width]`.
    pub gamma: Vec<f32>,
    /// `β`: `[width]`; absent in RMSNorm.
    pub beta: Option<Vec<f32>>,
    /// `ε`, which is added to the variance.
    pub epsilon: f32,
}

impl Norm {
    /// Normalizes rows: `(x − mean) / √(variance + ε) ∘ γ + β`, or `x / √(mean(x²) + ε) ∘ γ`.
    pub fn forward(&self, x: &mut [f32]) {
        add_and_normalize(x, &[], Some(self), self.gamma.len());
    }

    #[inline(always)]
    fn normalize(&self, row: &mut [f32]) {
        let share = 1.0 / row.len() as f32;
        let Some(beta) = &self.beta else {
            let mean_square = sum([row], |[x]| x * x) * share;
            let factor = 1.0 / (mean_square + self.epsilon).sqrt();
            for (x, gamma) in row.iter_mut().zip(&self.gamma) {
                *x *= factor * gamma;
            }
            return;
        };
        let mean = sum([row], |[x]| x) * share;
        let variance = sum([row], |[x]| (x - mean) * (x - mean)) * share;
        let factor = 1.0 / (variance + self.epsilon).sqrt();
        let parameters = self.gamma.iter().zip(beta);
        for (x, (gamma, beta)) in row.iter_mut().zip(parameters) {
            *x = (*x - mean) * factor * gamma + beta;
        }
    }
}

/// Adds rows to those of `x`, if there are any, and normalizes the sums.
///
/// # Panics
///
/// Panics if the width is 0.
#[inline(never)]
pub fn add_and_normalize(x: &mut [f32], added: &[f32], norm: Option<&Norm>, width: usize) {
    instruction_set().dispatch(AddAndNormalize {
        x,
        added,
        norm,
        width,
    });
}

struct AddAndNormalize<'a> {
    x: &'a mut [f32],
    added: &'a [f32],
    norm: Option<&'a Norm>,
    width: usize,
}

impl NullaryFnOnce for AddAndNormalize<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut added = self.added.chunks_exact(self.width);
        for x in self.x.chunks_exact_mut(self.width) {
            if let Some(added) = added.next() {
                for (x, added) in x.iter_mut().zip(added) {
                    *x += added;
                }
            }
            if let Some(norm) = self.norm {
                norm.normalize(x);
            }
        }
    }
}
