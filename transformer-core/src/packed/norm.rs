//! Normalization and residual sums of rows.

use pulp::NullaryFnOnce;

use super::weights::Packer;
use crate::LoadError;
use crate::config::{NormKind, NormPlacement, Place, Vector};
use crate::cpu::{instruction_set, sum};

/// `γ`, `β` and `ε` of a normalization.
#[derive(Debug)]
pub(super) struct PackedNorm {
    gamma: Vec<f32>,
    /// Absent in RMSNorm.
    beta: Option<Vec<f32>>,
    epsilon: f32,
}

impl PackedNorm {
    pub(super) fn pack(
        packer: &Packer<'_>,
        at: impl Fn(Vector) -> Place,
    ) -> Result<Self, LoadError> {
        let beta = match packer.config.norm_kind {
            NormKind::Layer => Some(packer.floats(at(Vector::Offset))?),
            NormKind::Rms => None,
        };
        Ok(Self {
            gamma: packer.floats(at(Vector::Gain))?,
            beta,
            epsilon: packer.config.norm_epsilon as f32,
        })
    }

    pub(super) fn width(&self) -> usize {
        self.gamma.len()
    }

    pub(super) fn forward(&self, x: &mut [f32]) {
        instruction_set().dispatch(AddAndNormalize {
            x,
            added: &[],
            norm: Some(self),
            width: self.width(),
        });
    }

    /// `(x − mean) / √(variance + ε) ∘ γ + β`, or `x / √(mean(x²) + ε) ∘ γ`.
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

/// The residual connection around a sub-layer.
#[derive(Debug)]
pub(super) struct PackedResidual {
    pub(super) norm: PackedNorm,
    pub(super) placement: NormPlacement,
}

impl PackedResidual {
    /// Returns the input of the sub-layer: `x`, or its normalization, written to `normalized`.
    pub(super) fn input<'a>(&self, x: &'a [f32], normalized: &'a mut Vec<f32>) -> &'a [f32] {
        match self.placement {
            NormPlacement::Post => x,
            NormPlacement::Pre => {
                normalized.clear();
                normalized.extend_from_slice(x);
                self.norm.forward(normalized);
                normalized
            }
        }
    }

    /// Adds the output of the sub-layer to `x`, and normalizes the sum in the post-norm form.
    pub(super) fn add(&self, x: &mut [f32], output: &[f32]) {
        instruction_set().dispatch(AddAndNormalize {
            x,
            added: output,
            norm: (self.placement == NormPlacement::Post).then_some(&self.norm),
            width: self.norm.gamma.len(),
        });
    }
}

/// Adds rows to those of `x`, if there are any, and normalizes the sums.
struct AddAndNormalize<'a> {
    x: &'a mut [f32],
    added: &'a [f32],
    norm: Option<&'a PackedNorm>,
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
