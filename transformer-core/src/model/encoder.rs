//! The encoder (§3.1, Figure 1, left).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::attention::MultiHeadAttention;
use super::feed_forward::FeedForward;
use super::mask::Mask;
use super::norm::LayerNorm;
use super::recording::Recorder;
use super::residual::Residual;
use crate::config::TransformerConfig;

/// A stack of encoder layers, with a normalization at the end if the config has `final_norm`.
#[derive(Module, Debug)]
pub(crate) struct Encoder {
    layers: Vec<EncoderLayer>,
    final_norm: Option<LayerNorm>,
    /// Positions that self-attention sees to either side of the query.
    window: Option<usize>,
}

/// Two sub-layers: self-attention, and a feed-forward network.
#[derive(Module, Debug)]
struct EncoderLayer {
    self_attention: MultiHeadAttention,
    self_attention_residual: Residual,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

impl Encoder {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            layers: (0..config.n_encoder_layers)
                .map(|_| EncoderLayer::new(config, device))
                .collect(),
            final_norm: config.final_norm.then(|| LayerNorm::new(config, device)),
            window: config.encoder_window,
        }
    }

    /// # Shapes
    ///
    /// - `x`: `[batch, src_len, d_model]`
    /// - returns: `[batch, src_len, d_model]`
    pub(crate) fn forward(
        &self,
        x: Tensor<3>,
        mask: Option<Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        let [_, src_len, _] = x.dims();
        let window = self
            .window
            .and_then(|window| Mask::window(window, 0, src_len, &x.device()));
        let mask = Mask::join(mask, window);
        let x = self
            .layers
            .iter()
            .fold(x, |x, layer| layer.forward(x, mask.as_ref(), recorder));
        match &self.final_norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}

impl EncoderLayer {
    fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            self_attention: MultiHeadAttention::new(config, device),
            self_attention_residual: Residual::new(config, device),
            feed_forward: FeedForward::new(config, device),
            feed_forward_residual: Residual::new(config, device),
        }
    }

    fn forward(&self, x: Tensor<3>, mask: Option<&Mask>, recorder: &mut Recorder) -> Tensor<3> {
        let x = self.self_attention_residual.forward(x, |x| {
            let keys_values = self.self_attention.keys_values_for_one_use(x.clone());
            self.self_attention
                .attend_recorded(x, keys_values, mask, recorder)
        });
        self.feed_forward_residual
            .forward(x, |x| self.feed_forward.forward(x))
    }
}
