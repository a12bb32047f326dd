//! The decoder (§3.1, Figure 1, right), one path for training and for generation.

use burn::module::Module;
use burn::nn::LayerNorm;
use burn::tensor::{Device, Tensor};

use super::attention::MultiHeadAttention;
use super::feed_forward::FeedForward;
use super::mask::Mask;
use super::residual::{Residual, layer_norm};
use super::state::{DecoderState, LayerState};
use crate::config::TransformerConfig;

/// Stacks the decoder's layers, with one more normalization at the end if the config asks for it.
#[derive(Module, Debug)]
pub(crate) struct Decoder {
    layers: Vec<DecoderLayer>,
    final_norm: Option<LayerNorm>,
}

/// Attends to the target so far, then to the memory, then transforms every place.
#[derive(Module, Debug)]
struct DecoderLayer {
    self_attention: MultiHeadAttention,
    self_attention_residual: Residual,
    cross_attention: MultiHeadAttention,
    cross_attention_residual: Residual,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

impl Decoder {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            layers: (0..config.n_decoder_layers)
                .map(|_| DecoderLayer::new(config, device))
                .collect(),
            final_norm: config.final_norm.then(|| layer_norm(config, device)),
        }
    }

    /// Projects the memory's keys and values in every layer: the state before the first token.
    ///
    /// # Shapes
    ///
    /// - `memory`: `[batch, src_len, d_model]`
    pub(crate) fn begin(&self, memory: &Tensor<3>, memory_mask: Option<Mask>) -> DecoderState {
        let layers = self.layers.iter().map(|layer| LayerState {
            self_attention: None,
            cross_attention: layer.cross_attention.keys_values(memory.clone()),
        });
        DecoderState {
            layers: layers.collect(),
            memory_mask,
            n_decoded: 0,
        }
    }

    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`, the embedded tokens that follow those in the state
    /// - returns: `[batch, len, d_model]`
    pub(crate) fn forward(&self, x: Tensor<3>, state: &mut DecoderState) -> Tensor<3> {
        let [_, len, _] = x.dims();
        let causal = Mask::causal(state.n_decoded, len, &x.device());
        let memory_mask = state.memory_mask.as_ref();
        let layers = self.layers.iter().zip(&mut state.layers);
        let x = layers.fold(x, |x, (layer, layer_state)| {
            layer.forward(x, layer_state, causal.as_ref(), memory_mask)
        });
        state.n_decoded += len;
        match &self.final_norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}

impl DecoderLayer {
    fn new(config: &TransformerConfig, device: &Device) -> Self {
        Self {
            self_attention: MultiHeadAttention::new(config, device),
            self_attention_residual: Residual::new(config, device),
            cross_attention: MultiHeadAttention::new(config, device),
            cross_attention_residual: Residual::new(config, device),
            feed_forward: FeedForward::new(config, device),
            feed_forward_residual: Residual::new(config, device),
        }
    }

    fn forward(
        &self,
        x: Tensor<3>,
        state: &mut LayerState,
        causal: Option<&Mask>,
        memory_mask: Option<&Mask>,
    ) -> Tensor<3> {
        let x = self.self_attention_residual.forward(x, |x| {
            let keys_values = state.extend(self.self_attention.keys_values(x.clone()));
            self.self_attention.attend(x, keys_values, causal)
        });
        let x = self.cross_attention_residual.forward(x, |x| {
            self.cross_attention
                .attend(x, state.cross_attention.clone(), memory_mask)
        });
        self.feed_forward_residual
            .forward(x, |x| self.feed_forward.forward(x))
    }
}
