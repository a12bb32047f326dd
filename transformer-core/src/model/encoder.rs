//! The encoder (§3.1, Figure 1, left).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::attention::MultiHeadAttention;
use super::feed_forward::FeedForward;
use super::init::validated;
use super::mask::Mask;
use super::matmul::MatmulPrecision;
use super::norm::LayerNorm;
use super::recording::Recorder;
use super::residual::Residual;
use crate::config::{ConfigError, TransformerConfig};

/// A stack of encoder layers, with a normalization at the end if the config has `final_norm`.
///
/// It takes vectors, so that the caller decides what they are: embedded tokens with positions, or patches of a picture.
/// With [`Mask::causal`] it is the stack of a language model such as GPT; without a mask, that of BERT.
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::{Mask, TransformerConfig, device, model::Encoder};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, d_ff: 16, ..TransformerConfig::tiny(9, 9) };
/// let encoder = Encoder::init(&config, &device)?;
/// let x = Tensor::<3>::random([2, 5, 8], Distribution::Default, &device);
/// assert_eq!(encoder.forward(x.clone(), None).dims(), [2, 5, 8]);
/// assert_eq!(encoder.forward(x, Mask::causal(0, 5, &device)).dims(), [2, 5, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct Encoder {
    pub(super) layers: Vec<EncoderLayer>,
    pub(super) final_norm: Option<LayerNorm>,
    /// Number of positions on either side of the query that self-attention sees.
    window: Option<usize>,
}

/// Two sub-layers: self-attention, and a feed-forward network.
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::{TransformerConfig, device, model::EncoderLayer};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, d_ff: 16, ..TransformerConfig::tiny(9, 9) };
/// let layer = EncoderLayer::init(&config, &device)?;
/// let x = Tensor::<3>::random([2, 5, 8], Distribution::Default, &device);
/// assert_eq!(layer.forward(x, None).dims(), [2, 5, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct EncoderLayer {
    self_attention: MultiHeadAttention,
    self_attention_residual: Residual,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

impl Encoder {
    /// Builds the stack of the config with random weights.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            layers: (0..config.n_encoder_layers)
                .map(|_| EncoderLayer::new(config, device))
                .collect(),
            final_norm: config.final_norm.then(|| LayerNorm::new(config, device)),
            window: config.encoder_window,
        }
    }

    /// Lets every vector attend to all others that the mask and the config's window do not hide.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, src_len, d_model]`
    /// - `mask`: `[batch or 1, n_heads or 1, src_len or 1, src_len]`
    /// - returns: `[batch, src_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the width of `x` is not that of the config, or the mask does not fit.
    pub fn forward(&self, x: Tensor<3>, mask: Option<Mask>) -> Tensor<3> {
        self.forward_recorded(x, mask, &mut Recorder::Off)
    }

    /// Like [`forward`](Self::forward), and returns the attention weights of every layer too, before dropout.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, src_len, d_model]`
    /// - `mask`: `[batch or 1, n_heads or 1, src_len or 1, src_len]`
    /// - returns: `[batch, src_len, d_model]`, and for each layer `[batch, n_heads, src_len, src_len]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn forward_with_weights(
        &self,
        x: Tensor<3>,
        mask: Option<Mask>,
    ) -> (Tensor<3>, Vec<Tensor<4>>) {
        let mut recorder = Recorder::all_layers();
        let states = self.forward_recorded(x, mask, &mut recorder);
        (states, recorder.into_weights())
    }

    pub(crate) fn forward_recorded(
        &self,
        x: Tensor<3>,
        mask: Option<Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        let mask = self.mask_of_layers(&x, mask);
        let x = self.layers.iter().fold(x, |x, layer| {
            layer.forward_recorded(x, mask.as_ref(), recorder)
        });
        LayerNorm::forward_if_any(self.final_norm.as_ref(), x)
    }

    /// Returns the mask for every layer: the given one combined with the window.
    pub(super) fn mask_of_layers(&self, x: &Tensor<3>, mask: Option<Mask>) -> Option<Mask> {
        let [_, src_len, _] = x.dims();
        let window = self
            .window
            .and_then(|window| Mask::window(window, 0, src_len, &x.device()));
        Mask::join(mask, window)
    }

    pub(super) fn set_matmul_precision(&mut self, matmul: MatmulPrecision) {
        for layer in &mut self.layers {
            layer.self_attention.set_matmul_precision(matmul);
            layer.feed_forward.set_matmul_precision(matmul);
        }
    }
}

impl EncoderLayer {
    /// Builds a layer of the config with random weights.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            self_attention: MultiHeadAttention::new(config, device),
            self_attention_residual: Residual::new(config, device),
            feed_forward: FeedForward::new(config, device),
            feed_forward_residual: Residual::new(config, device),
        }
    }

    /// Applies both sub-layers.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, src_len, d_model]`
    /// - `mask`: `[batch or 1, n_heads or 1, src_len or 1, src_len]`
    /// - returns: `[batch, src_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the width of `x` is not that of the config, or the mask does not fit.
    pub fn forward(&self, x: Tensor<3>, mask: Option<&Mask>) -> Tensor<3> {
        self.forward_recorded(x, mask, &mut Recorder::Off)
    }

    fn forward_recorded(
        &self,
        x: Tensor<3>,
        mask: Option<&Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        let x = self.self_attention_residual.forward(x, |x| {
            let keys_values = self.self_attention.keys_values_for_one_use(x.clone());
            self.self_attention
                .attend_recorded(x, keys_values, mask, recorder)
        });
        self.feed_forward_residual
            .forward(x, |x| self.feed_forward.forward(x))
    }
}
