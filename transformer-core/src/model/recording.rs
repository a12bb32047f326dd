//! Recording of attention weights (Figures 3 to 5).

use burn::tensor::Tensor;

/// The attention weights of one pass, layer by layer, before dropout.
///
/// The weights of a query sum to 1, or to 0 if all keys are hidden from it. A call that gets a
/// value of this type overwrites the fields that it computes.
#[derive(Clone, Debug, Default)]
pub struct AttentionMaps {
    /// Encoder self-attention, one tensor per layer: `[batch, n_heads, src_len, src_len]`.
    pub encoder: Vec<Tensor<4>>,
    /// Decoder self-attention, one tensor per layer: `[batch, n_heads, len, n_decoded]`, where
    /// `len` is the number of tokens of this call and `n_decoded` that of all calls so far. Empty if the decoder has a
    /// recurrence in place of self-attention.
    pub decoder: Vec<Tensor<4>>,
    /// Attention from the decoder to the memory, one tensor per layer: `[batch, n_heads, len, src_len]`.
    pub cross: Vec<Tensor<4>>,
}

/// Records the attention weights of the layers that it passes through, `[batch, n_heads, queries, keys]` each.
#[derive(Debug)]
pub(crate) enum Recorder {
    Off,
    AllLayers(Vec<Tensor<4>>),
    OneLayer {
        /// Number of layers before it.
        n_before: usize,
        /// Its weights: empty until it is computed, then one tensor.
        weights: Vec<Tensor<4>>,
    },
}

impl Recorder {
    pub(super) fn all_layers() -> Self {
        Self::AllLayers(Vec::new())
    }

    pub(super) fn one_layer(layer: usize) -> Self {
        Self::OneLayer {
            n_before: layer,
            weights: Vec::new(),
        }
    }

    /// Returns a recorder of all layers if there are maps to fill, else one that is off.
    pub(super) fn for_maps(maps: Option<&AttentionMaps>) -> Self {
        match maps {
            Some(_) => Self::all_layers(),
            None => Self::Off,
        }
    }

    pub(super) fn record(&mut self, layer: &Tensor<4>) {
        match self {
            Self::Off => {}
            Self::AllLayers(layers) => layers.push(layer.clone()),
            Self::OneLayer { n_before, weights } => match n_before.checked_sub(1) {
                Some(n_left) => *n_before = n_left,
                None if weights.is_empty() => weights.push(layer.clone()),
                None => {}
            },
        }
    }

    /// Gives each row of the batch its own weights: turns `[n_groups, n_heads, group_size * len, keys]` into
    /// `[n_groups * group_size, n_heads, len, keys]`.
    pub(super) fn split_groups(&mut self, group_size: usize, len: usize) {
        if group_size == 1 {
            return;
        }
        let (Self::AllLayers(weights) | Self::OneLayer { weights, .. }) = self else {
            return;
        };
        for weights in weights {
            let [n_groups, n_heads, _, n_keys] = weights.dims();
            let by_row = weights
                .clone()
                .reshape([n_groups, n_heads, group_size, len, n_keys]);
            *weights =
                by_row
                    .swap_dims(1, 2)
                    .reshape([n_groups * group_size, n_heads, len, n_keys]);
        }
    }

    /// Returns the recorded weights, in the order of the layers.
    pub(super) fn into_weights(self) -> Vec<Tensor<4>> {
        match self {
            Self::Off => Vec::new(),
            Self::AllLayers(weights) | Self::OneLayer { weights, .. } => weights,
        }
    }
}

#[derive(Debug)]
pub(crate) struct DecoderRecorders {
    pub(super) self_attention: Recorder,
    pub(super) cross_attention: Recorder,
}

impl DecoderRecorders {
    pub(super) fn off() -> Self {
        Self {
            self_attention: Recorder::Off,
            cross_attention: Recorder::Off,
        }
    }
}
