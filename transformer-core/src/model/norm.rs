//! Layer normalization (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>), which §3.1 applies
//! around every sub-layer.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, FloatDType, Tensor, module};

use super::init::{ones, zeros};
use crate::config::TransformerConfig;
use crate::cpu;

/// Normalizes the features of every token: `(x − mean) / √(variance + ε) ∘ γ + β`.
///
/// The parameters have the names of those of Burn's layer.
#[derive(Module, Debug)]
pub(crate) struct LayerNorm {
    /// `[d_model]`.
    gamma: Param<Tensor<1>>,
    /// `[d_model]`.
    beta: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// Creates a layer with `γ = 1` and `β = 0`.
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            gamma: ones(config.d_model, device),
            beta: zeros(config.d_model, device),
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
            // In half precision, the squares of values above 256 overflow.
            DType::F16 => {
                let f32 = FloatDType::F32;
                let (x, gamma, beta) = (x.cast(f32), gamma.cast(f32), beta.cast(f32));
                normalize(x, gamma, beta, self.epsilon).cast(FloatDType::F16)
            }
            _ => normalize(x, gamma, beta, self.epsilon),
        }
    }
}

fn normalize(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let [_, _, d_model] = x.dims();
    assert_eq!(gamma.dims(), [d_model], "`γ` has one element per feature");
    cpu::layer_norm(&x, &gamma, &beta, epsilon)
        .unwrap_or_else(|| module::layer_norm(x, gamma, Some(beta), epsilon))
}
