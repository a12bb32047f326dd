//! The layers: their weights, linear layers on packed weights, the feed-forward network (§3.3), and the recurrence in place
//! of the decoder's self-attention.

use transformer_kernels::attention::Heads;
use transformer_kernels::{Activation, Finish, Kernels, Norm, PackedMatrix, recur};

use super::norm::PackedResidual;
use super::weights::Packer;
use super::workspace::Workspace;
use crate::LoadError;
use crate::config::{self, Linear, SubLayer};

/// Self-attention: queries, keys and values as one product.
#[derive(Debug)]
pub(super) struct PackedSelfAttention {
    pub(super) queries_keys_values: PackedLinear,
    pub(super) output: PackedLinear,
    pub(super) residual: PackedResidual,
}

/// The recurrence in place of the decoder's self-attention: candidates and forget gates as one product.
#[derive(Debug)]
pub(super) struct PackedRecurrence {
    pub(super) candidates_forgets: PackedLinear,
    pub(super) residual: PackedResidual,
}

/// The sub-layer by which a decoder layer sees previous tokens.
#[derive(Debug)]
pub(super) enum PackedMixing {
    SelfAttention(PackedSelfAttention),
    Recurrence(PackedRecurrence),
}

/// Attention to the memory. Its keys and values are projected once, as one product.
#[derive(Debug)]
pub(super) struct PackedCrossAttention {
    pub(super) queries: PackedLinear,
    pub(super) keys_values: PackedLinear,
    pub(super) output: PackedLinear,
    pub(super) residual: PackedResidual,
}

#[derive(Debug)]
pub(super) struct PackedEncoderLayer {
    pub(super) self_attention: PackedSelfAttention,
    pub(super) feed_forward: PackedFeedForward,
}

#[derive(Debug)]
pub(super) struct PackedDecoderLayer {
    pub(super) mixing: PackedMixing,
    pub(super) cross_attention: PackedCrossAttention,
    pub(super) feed_forward: PackedFeedForward,
}

#[derive(Debug)]
pub(super) struct Stack<L> {
    pub(super) layers: Vec<L>,
    pub(super) final_norm: Option<Norm>,
    pub(super) heads: Heads,
    /// The number of tokens on either side, or before a token, that it attends to.
    pub(super) window: Option<usize>,
}

#[derive(Debug)]
pub(super) struct PackedFeedForward {
    inner: PackedLinear,
    gate: Option<PackedLinear>,
    outer: PackedLinear,
    activation: Activation,
    residual: PackedResidual,
}

impl PackedFeedForward {
    pub(super) fn pack(packer: &Packer<'_>, at: SubLayer) -> Result<Self, LoadError> {
        let gate = packer.config.gated_feed_forward;
        Ok(Self {
            inner: packer.linear(at, &[Linear::Inner])?,
            gate: gate
                .then(|| packer.linear(at, &[Linear::Gate]))
                .transpose()?,
            outer: packer.linear(at, &[Linear::Outer])?,
            activation: match packer.config.activation {
                config::Activation::Relu => Activation::Relu,
                config::Activation::Gelu => Activation::Gelu,
                config::Activation::Silu => Activation::Silu,
            },
            residual: packer.residual(at)?,
        })
    }

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

impl PackedRecurrence {
    pub(super) fn width(&self) -> usize {
        self.residual.norm.gamma.len()
    }

    /// Computes the embedded tokens in [`Workspace::x`] and the cells after them, one for each row.
    pub(super) fn decode(&self, cells: &mut [f32], workspace: &mut Workspace) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (projected, output) = (&mut workspace.projected, &mut workspace.output);
        self.candidates_forgets
            .forward(&mut workspace.kernels, input, projected);
        output.resize(cells.len(), 0.0);
        recur(self.width(), projected, cells, output);
        self.residual.add(&mut workspace.x, output);
    }
}

/// One linear layer, or several with the same input as one.
#[derive(Debug)]
pub(super) struct PackedLinear {
    matrix: PackedMatrix,
    /// `[d_out]`; empty without a bias.
    bias: Vec<f32>,
    d_in: usize,
    d_out: usize,
}

impl PackedLinear {
    /// # Panics
    ///
    /// Panics if the bias is neither empty nor as long as a row of the output.
    pub(super) fn new(matrix: PackedMatrix, bias: Vec<f32>, [d_in, d_out]: [usize; 2]) -> Self {
        assert!(
            bias.is_empty() || bias.len() == d_out,
            "one bias for each output feature"
        );
        Self {
            matrix,
            bias,
            d_in,
            d_out,
        }
    }

    /// Writes `x·W + b`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `output`: resized to `[rows, d_out]`
    pub(super) fn forward(&self, kernels: &mut Kernels, x: &[f32], output: &mut Vec<f32>) {
        self.forward_activated(kernels, x, None, output);
    }

    /// Writes `activation(x·W + b)`, with the shapes of [`forward`](Self::forward).
    pub(super) fn forward_activated(
        &self,
        kernels: &mut Kernels,
        x: &[f32],
        activation: Option<Activation>,
        output: &mut Vec<f32>,
    ) {
        output.resize(x.len() / self.d_in * self.d_out, 0.0);
        self.write(kernels, x, activation, output);
    }

    /// Writes `activation(x·W + b)` into a slice.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `output`: `[rows, d_out]`
    pub(super) fn write(
        &self,
        kernels: &mut Kernels,
        x: &[f32],
        activation: Option<Activation>,
        output: &mut [f32],
    ) {
        let sizes = [self.d_in, self.d_out];
        let finish = Finish {
            bias: &self.bias,
            activation,
        };
        kernels.multiply(x, sizes, &self.matrix, finish, output);
    }
}
