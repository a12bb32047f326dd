//! The residual connection around every sub-layer (§3.1, §5.4).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::dropout::Dropout;
use super::init::validated;
use super::norm::LayerNorm;
use crate::config::{ConfigError, NormPlacement, TransformerConfig};

/// Adds a sub-layer's output to its input, with dropout and layer normalization.
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::{TransformerConfig, device, model::Residual};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, ..TransformerConfig::tiny(9, 9) };
/// let residual = Residual::init(&config, &device)?;
/// let x = Tensor::<3>::random([2, 5, 8], Distribution::Default, &device);
/// let y = residual.forward(x, |x| x * 0.5); // LayerNorm(x + Dropout(x / 2))
/// assert_eq!(y.dims(), [2, 5, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct Residual {
    norm: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    placement: NormPlacement,
}

impl Residual {
    /// Builds a residual connection of the config; its normalization has `γ = 1` and `β = 0`.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            norm: LayerNorm::new(config, device),
            dropout: Dropout::new(config.dropout),
            placement: config.norm_placement,
        }
    }

    /// Applies the sub-layer: `LayerNorm(x + Dropout(Sublayer(x)))`, or the pre-norm form of it.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the width of `x` is not that of the config, or the sub-layer changes the shape.
    pub fn forward(
        &self,
        x: Tensor<3>,
        sublayer: impl FnOnce(Tensor<3>) -> Tensor<3>,
    ) -> Tensor<3> {
        match self.placement {
            NormPlacement::Post => {
                let output = self.dropout.forward(sublayer(x.clone()));
                self.norm.forward(x + output)
            }
            NormPlacement::Pre => {
                let output = self.dropout.forward(sublayer(self.norm.forward(x.clone())));
                x + output
            }
        }
    }
}
