//! Normalizations as they are stored, and the residual connections around sub-layers.

use transformer_kernels::{Norm, add_and_normalize};

use super::weights::Packer;
use crate::LoadError;
use crate::config::{NormKind, NormPlacement, Place, Vector};

/// Reads a normalization.
pub(super) fn pack(packer: &Packer<'_>, at: impl Fn(Vector) -> Place) -> Result<Norm, LoadError> {
    let beta = match packer.config.norm_kind {
        NormKind::Layer => Some(packer.floats(at(Vector::Offset))?),
        NormKind::Rms => None,
    };
    Ok(Norm {
        gamma: packer.floats(at(Vector::Gain))?,
        beta,
        epsilon: packer.config.norm_epsilon as f32,
    })
}

/// The residual connection around a sub-layer.
#[derive(Debug)]
pub(super) struct PackedResidual {
    pub(super) norm: Norm,
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
        let norm = (self.placement == NormPlacement::Post).then_some(&self.norm);
        add_and_normalize(x, output, norm, self.norm.gamma.len());
    }
}
