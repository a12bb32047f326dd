//! Layer normalization (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>), which §3.1 applies around every sub-layer,
//! and RMSNorm (Zhang and Sennrich 2019, <https://arxiv.org/abs/1910.07467>).

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, FloatDType, Tensor, module};

use super::init::{ones, validated, zeros};
use crate::config::{ConfigError, NormKind, TransformerConfig};
use crate::cpu;

/// Normalizes the features of every token: `(x − mean) / √(variance + ε) ∘ γ + β`, or `x / √(mean(x²) + ε) ∘ γ` with
/// [`NormKind::Rms`].
///
/// The parameters have the same names as in Burn's layer.
///
/// # Example
///
/// ```
/// use burn::tensor::Tensor;
/// use transformer_core::{TransformerConfig, device, model::LayerNorm};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 4, n_heads: 1, ..TransformerConfig::tiny(9, 9) };
/// let norm = LayerNorm::init(&config, &device)?;
/// let x = Tensor::<3>::from_data([[[1.0, 3.0, 1.0, 3.0]]], &device);
/// let y: Vec<f32> = norm.forward(x).into_data().iter::<f32>().collect();
/// assert!(y.iter().zip([-1.0, 1.0, -1.0, 1.0]).all(|(y, expected)| (y - expected).abs() < 1e-4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// `[d_model]`.
    gamma: Param<Tensor<1>>,
    /// `[d_model]`; none in RMSNorm.
    beta: Option<Param<Tensor<1>>>,
    epsilon: f64,
}

impl LayerNorm {
    /// Builds a layer of the config with `γ = 1` and, in layer normalization, `β = 0`.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    /// Creates a layer with `γ = 1` and `β = 0`.
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            gamma: ones(config.d_model, device),
            beta: (config.norm_kind == NormKind::Layer).then(|| zeros(config.d_model, device)),
            epsilon: config.norm_epsilon,
        }
    }

    /// Applies a normalization that a config may lack.
    pub(super) fn forward_if_any(norm: Option<&Self>, x: Tensor<3>) -> Tensor<3> {
        match norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Creates the normalization of embedded tokens, if the config has it.
    pub(super) fn of_embedding(config: &TransformerConfig, device: &Device) -> Option<Self> {
        config.embedding_norm.then(|| Self::new(config, device))
    }

    /// Normalizes every token separately.
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
        let (gamma, beta) = (self.gamma.val(), self.beta.as_ref().map(Param::val));
        match x.dtype() {
            // In half precision, the squares of values above 256 overflow.
            DType::F16 => {
                let f32 = FloatDType::F32;
                let (x, gamma) = (x.cast(f32), gamma.cast(f32));
                let beta = beta.map(|beta| beta.cast(f32));
                normalize(x, gamma, beta, self.epsilon).cast(FloatDType::F16)
            }
            _ => normalize(x, gamma, beta, self.epsilon),
        }
    }
}

fn normalize(x: Tensor<3>, gamma: Tensor<1>, beta: Option<Tensor<1>>, epsilon: f64) -> Tensor<3> {
    let [_, _, d_model] = x.dims();
    assert_eq!(gamma.dims(), [d_model], "`γ` has one element per feature");
    let Some(beta) = beta else {
        let mean_square = (x.clone() * x.clone()).mean_dim(2); // [batch, len, 1]
        return x / (mean_square + epsilon).sqrt() * gamma.unsqueeze();
    };
    cpu::layer_norm(&x, &gamma, &beta, epsilon)
        .unwrap_or_else(|| module::layer_norm(x, gamma, Some(beta), epsilon))
}
