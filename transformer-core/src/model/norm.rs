//! Layer normalization (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>), which §3.1 puts around every sub-layer.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{DType, Device, FloatDType, Tensor};

use crate::config::TransformerConfig;
use crate::cpu;

/// Normalizes the features of every token: `(x − mean) / √(variance + ε) ∘ γ + β`.
///
/// Its parameters have the names of Burn's own layer, which has a gradient by parts (see [`fused`]).
#[derive(Module, Debug)]
pub(crate) struct LayerNorm {
    /// `[d_model]`.
    gamma: Param<Tensor<1>>,
    /// `[d_model]`.
    beta: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// Makes a layer with gain 1 and bias 0.
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            gamma: Initializer::Ones.init([config.d_model], device),
            beta: Initializer::Zeros.init([config.d_model], device),
            epsilon: config.norm_epsilon,
        }
    }

    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let (gamma, beta) = (self.gamma.val(), self.beta.val());
        match x.dtype() {
            // Squares of more than 256 are infinite in half precision.
            DType::F16 => {
                let single = FloatDType::F32;
                let (gamma, beta) = (gamma.cast(single), beta.cast(single));
                cpu::layer_norm(x.cast(single), gamma, beta, self.epsilon).cast(FloatDType::F16)
            }
            _ => cpu::layer_norm(x, gamma, beta, self.epsilon),
        }
    }
}
