//! The position-wise feed-forward network (§3.3).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, activation};

use super::dropout::Dropout;
use super::linear::{apply, linear};
use crate::config::{Activation, TransformerConfig};

/// Transforms every place on its own: `activation(x·W₁ + b₁)·W₂ + b₂` (Eq. 2).
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    inner: Linear,
    outer: Linear,
    dropout: Dropout,
    #[module(skip)]
    activation: Activation,
}

impl FeedForward {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            inner: linear(config.d_model, config.d_ff, true, device),
            outer: linear(config.d_ff, config.d_model, true, device),
            dropout: Dropout::new(config.activation_dropout),
            activation: config.activation,
        }
    }

    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let inner = apply(&self.inner, x); // [batch, len, d_ff]
        let activated = match self.activation {
            Activation::Relu => activation::relu(inner),
            Activation::Gelu => gelu(inner),
            Activation::Silu => activation::silu(inner),
        };
        apply(&self.outer, self.dropout.forward(activated))
    }
}

/// `x·Φ(x)`, written out: Burn's own has the derivative of the approximation by tanh wherever a backend brings none,
/// on ndarray and all GPUs.
/// <https://github.com/tracel-ai/burn/blob/907ab111a02c2dea47bc41633754f095c6b2220e/crates/burn-backend/src/backend/ops/activation.rs#L98>;
/// a test of backends tells when that is mended.
fn gelu(x: Tensor<3>) -> Tensor<3> {
    let doubled = (x.clone() * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0; // 2·Φ(x)
    x * doubled * 0.5
}
