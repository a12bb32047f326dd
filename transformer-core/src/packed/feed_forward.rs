//! The feed-forward network (§3.3).

use super::linear::PackedLinear;
use super::norm::PackedResidual;
use super::products::Workspace;
use super::weights::Packer;
use crate::LoadError;
use crate::config::{Activation, Linear, SubLayer};

/// The feed-forward network and its residual connection.
#[derive(Debug)]
pub(super) struct PackedFeedForward {
    inner: PackedLinear,
    gate: Option<PackedLinear>,
    outer: PackedLinear,
    activation: Activation,
    residual: PackedResidual,
}

impl PackedFeedForward {
    /// Packs the network of a sub-layer.
    pub(super) fn pack(packer: &Packer<'_>, at: SubLayer) -> Result<Self, LoadError> {
        let gate = packer.config.gated_feed_forward;
        Ok(Self {
            inner: packer.linear(at, &[Linear::Inner])?,
            gate: gate
                .then(|| packer.linear(at, &[Linear::Gate]))
                .transpose()?,
            outer: packer.linear(at, &[Linear::Outer])?,
            activation: packer.config.activation,
            residual: packer.residual(at)?,
        })
    }

    /// Applies the sub-layer to the tokens in [`Workspace::x`].
    pub(super) fn forward(&self, workspace: &mut Workspace) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (kernels, inner) = (&mut workspace.kernels, &mut workspace.inner);
        self.inner
            .forward_activated(kernels, input, Some(self.activation), inner);
        if let Some(gate) = &self.gate {
            gate.forward(kernels, input, &mut workspace.projected);
            for (hidden, gate) in inner.iter_mut().zip(&workspace.projected) {
                *hidden *= *gate;
            }
        }
        self.outer.forward(kernels, inner, &mut workspace.output);
        self.residual.add(&mut workspace.x, &workspace.output);
    }
}
