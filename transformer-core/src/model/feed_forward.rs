//! The position-wise feed-forward network (§3.3), and its non-linearities.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, activation};

use super::dropout::Dropout;
use super::init::validated;
use super::linear::apply;
use super::matmul::MatmulPrecision;
use crate::config::{Activation, ConfigError, TransformerConfig};

/// Transforms every position separately: `activation(x·W₁ + b₁)·W₂ + b₂` (Eq. 2), or
/// `(activation(x·W₁ + b₁) ∘ (x·W₃ + b₃))·W₂ + b₂` with
/// [`gated_feed_forward`](TransformerConfig::gated_feed_forward) (Shazeer 2020, <https://arxiv.org/abs/2002.05202>).
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::{TransformerConfig, device, model::FeedForward};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, d_ff: 24, ..TransformerConfig::tiny(9, 9) };
/// let network = FeedForward::init(&config, &device)?;
/// let x = Tensor::<3>::random([2, 5, 8], Distribution::Default, &device);
/// assert_eq!(network.forward(x).dims(), [2, 5, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct FeedForward {
    inner: Linear,
    gate: Option<Linear>,
    outer: Linear,
    dropout: Dropout,
    #[module(skip)]
    activation: Activation,
    #[module(skip)]
    matmul: MatmulPrecision,
}

impl FeedForward {
    /// Builds a network of the config with random weights.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let linear = |d_in, d_out| config.initialization.linear(d_in, d_out, true, device);
        Self {
            inner: linear(config.d_model, config.d_ff),
            gate: config
                .gated_feed_forward
                .then(|| linear(config.d_model, config.d_ff)),
            outer: linear(config.d_ff, config.d_model),
            dropout: Dropout::new(config.activation_dropout),
            activation: config.activation,
            matmul: MatmulPrecision::default(),
        }
    }

    pub(super) fn set_matmul_precision(&mut self, matmul: MatmulPrecision) {
        self.matmul = matmul;
    }

    /// Transforms every token separately.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the width of `x` is not that of the config.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let gate = self.gate.as_ref();
        let gate = gate.map(|gate| apply(gate, x.clone(), self.matmul)); // [batch, len, d_ff]
        let inner = apply(&self.inner, x, self.matmul); // [batch, len, d_ff]
        let activated = self.activation.forward(inner);
        let hidden = match gate {
            Some(gate) => activated * gate,
            None => activated,
        };
        apply(&self.outer, self.dropout.forward(hidden), self.matmul)
    }
}

impl Activation {
    pub(super) fn forward(self, x: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Relu => activation::relu(x),
            Self::Gelu => gelu(x),
            Self::Silu => activation::silu(x),
        }
    }
}

/// `x·Φ(x)`, written out. On ndarray and all GPUs, the gradient of Burn's `gelu` is that of the tanh approximation:
/// <https://github.com/tracel-ai/burn/blob/907ab111a02c2dea47bc41633754f095c6b2220e/crates/burn-backend/src/backend/ops/activation.rs#L98>.
/// `burns_gelu_has_its_own_derivative_only_on_flex_and_libtorch` fails when that is fixed.
fn gelu(x: Tensor<3>) -> Tensor<3> {
    let doubled = (x.clone() * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0; // 2·Φ(x)
    x * doubled * 0.5
}
