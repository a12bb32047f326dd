//! The residual connection around every sub-layer (§3.1, §5.4).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::dropout::Dropout;
use super::norm::LayerNorm;
use crate::config::{NormPlacement, TransformerConfig};

/// Adds a sub-layer's output to its input, with dropout and layer normalization.
#[derive(Module, Debug)]
pub(crate) struct Residual {
    norm: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    placement: NormPlacement,
}

impl Residual {
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
    pub(crate) fn forward(
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
