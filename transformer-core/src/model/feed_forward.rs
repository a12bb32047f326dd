//! The position-wise feed-forward network (§3.3), and how matrices start.

use burn::module::Module;
use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor, activation};

use super::dropout::Dropout;
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
        let inner = self.inner.forward(x); // [batch, len, d_ff]
        let activated = match self.activation {
            Activation::Relu => activation::relu(inner),
            Activation::Gelu => gelu(inner),
            Activation::Silu => activation::silu(inner),
        };
        self.outer.forward(self.dropout.forward(activated))
    }
}

/// `x·Φ(x)`, written out: on some backends Burn's own has the derivative of the tanh approximation.
fn gelu(x: Tensor<3>) -> Tensor<3> {
    let doubled = (x.clone() * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0; // 2·Φ(x)
    x * doubled * 0.5
}

/// Makes a linear layer with a Xavier-uniform matrix and a bias of zeros, as Tensor2Tensor and
/// PyTorch's Transformer start theirs (the paper does not say).
pub(crate) fn linear(d_in: usize, d_out: usize, bias: bool, device: &Device) -> Linear {
    let xavier = Initializer::XavierUniform { gain: 1.0 };
    Linear {
        weight: xavier.init_with([d_in, d_out], Some(d_in), Some(d_out), device),
        bias: bias.then(|| Initializer::Zeros.init([d_out], device)),
    }
}
