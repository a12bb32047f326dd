//! What attention looked at: the weights of every head, kept for those who ask (Figures 3 to 5).

use burn::tensor::{Int, Tensor};

use super::decoder::DecoderRecorders;
use super::mask::Mask;
use super::state::DecoderState;
use super::transformer::Transformer;

/// Holds the attention weights of one pass, layer by layer; each row of a head sums to 1, or to 0 where
/// a query saw nothing.
///
/// Every call that is given a value of this type replaces the part that it computes.
#[derive(Clone, Debug, Default)]
pub struct AttentionMaps {
    /// Encoder self-attention, one entry for each layer: `[batch, n_heads, src_len, src_len]`.
    pub encoder: Vec<Tensor<4>>,
    /// Decoder self-attention, one entry for each layer: `[batch, n_heads, len, n_decoded]`, where `len`
    /// tokens were decoded in this call and `n_decoded` so far, these included.
    pub decoder: Vec<Tensor<4>>,
    /// Attention from decoder to memory, one entry for each layer: `[batch, n_heads, len, src_len]`.
    pub cross: Vec<Tensor<4>>,
}

/// Holds masks beyond padding and causality, which always hold; each serves every layer of its kind.
///
/// Default: none.
#[derive(Clone, Debug, Default)]
pub struct AttentionMasks {
    /// In the encoder's self-attention: `[batch or 1, n_heads or 1, src_len or 1, src_len]`.
    pub encoder: Option<Mask>,
    /// In the decoder's self-attention: `[batch or 1, n_heads or 1, len or 1, n_decoded]`.
    pub decoder: Option<Mask>,
    /// In the attention from decoder to memory: `[batch or 1, n_heads or 1, len or 1, src_len]`.
    pub cross: Option<Mask>,
}

/// Collects attention weights, layer by layer, where somebody asked for them.
#[derive(Debug)]
pub(crate) enum Recorder {
    /// Nobody asked: nothing is kept.
    Off,
    /// Keeps the weights that it is shown: `[batch, n_heads, queries, keys]`.
    On(Vec<Tensor<4>>),
    /// Keeps those of one layer.
    Layer {
        /// How many layers are still to come before it.
        n_before: usize,
        /// Its weights, once it was there.
        kept: Vec<Tensor<4>>,
    },
}

impl Recorder {
    /// Keeps what it is shown if there is somebody to keep it for.
    pub(crate) fn serving(reader: Option<&AttentionMaps>) -> Self {
        match reader {
            Some(_) => Self::On(Vec::new()),
            None => Self::Off,
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    pub(crate) fn show(&mut self, weights: &Tensor<4>) {
        match self {
            Self::Off => {}
            Self::On(kept) => kept.push(weights.clone()),
            Self::Layer { n_before, kept } => match n_before.checked_sub(1) {
                Some(n_left) => *n_before = n_left,
                None if kept.is_empty() => kept.push(weights.clone()),
                None => {}
            },
        }
    }

    /// Gives each row what its group was shown: turns `[groups, n_heads, rows_per_group * len, keys]` into
    /// `[groups * rows_per_group, n_heads, len, keys]`.
    pub(crate) fn ungroup(&mut self, rows_per_group: usize, len: usize) {
        let (Self::On(kept) | Self::Layer { kept, .. }) = self else {
            return;
        };
        if rows_per_group == 1 {
            return;
        }
        for weights in kept {
            let [n_groups, n_heads, _, n_keys] = weights.dims();
            let by_row = weights
                .clone()
                .reshape([n_groups, n_heads, rows_per_group, len, n_keys]);
            *weights =
                by_row
                    .swap_dims(1, 2)
                    .reshape([n_groups * rows_per_group, n_heads, len, n_keys]);
        }
    }

    pub(crate) fn into_maps(self) -> Vec<Tensor<4>> {
        match self {
            Self::Off => Vec::new(),
            Self::On(kept) | Self::Layer { kept, .. } => kept,
        }
    }
}

impl Transformer {
    /// Returns how one layer attends to the memory while it decodes the tokens that follow those in the state.
    ///
    /// It is what [`decode_with`](Self::decode_with) puts into [`AttentionMaps::cross`] for this layer, without
    /// the maps of the others and without logits: the way to the word alignments of many sentences.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, beginning with BOS at the first call
    /// - returns: `[batch, n_heads, len, src_len]`
    ///
    /// # Panics
    ///
    /// Panics as [`decode`](Self::decode) does, and if there is no such layer; the first is 0.
    pub fn cross_attention(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        layer: usize,
    ) -> Tensor<4> {
        let mut recorders = DecoderRecorders {
            self_attention: Recorder::Off,
            cross_attention: Recorder::Layer {
                n_before: layer,
                kept: Vec::new(),
            },
        };
        let _ = self.decode_recorded(tgt, state, &AttentionMasks::default(), &mut recorders);
        let weights = recorders.cross_attention.into_maps().pop();
        weights.unwrap_or_else(|| panic!("the decoder has no layer {layer}, counted from 0"))
    }
}
