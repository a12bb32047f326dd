//! The decoder (§3.1, Figure 1, right): one code path for training and for generation.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::attention::MultiHeadAttention;
use super::feed_forward::FeedForward;
use super::init::validated;
use super::mask::{AttentionMasks, Mask};
use super::matmul::MatmulPrecision;
use super::memory::Memory;
use super::norm::LayerNorm;
use super::recording::DecoderRecorders;
use super::recurrence::Recurrence;
use super::residual::Residual;
use super::state::{DecoderState, LayerState, OwnState};
use crate::config::{ConfigError, Mixing, TransformerConfig};

/// A stack of decoder layers, with a normalization at the end if the config has `final_norm`.
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::{Memory, TransformerConfig, device, model::Decoder};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, d_ff: 16, ..TransformerConfig::tiny(9, 9) };
/// let decoder = Decoder::init(&config, &device)?;
/// let random = |len| Tensor::<3>::random([2, len, 8], Distribution::Default, &device);
/// let mut state = decoder.begin(&Memory::new(random(5), None));
/// assert_eq!(decoder.forward(random(3), &mut state).dims(), [2, 3, 8]);
/// assert_eq!(decoder.forward(random(1), &mut state).dims(), [2, 1, 8]); // the fourth token
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct Decoder {
    pub(super) layers: Vec<DecoderLayer>,
    pub(super) final_norm: Option<LayerNorm>,
    /// Number of positions before the query that self-attention sees.
    window: Option<usize>,
}

/// The masks of a pass through the decoder.
#[derive(Clone, Debug)]
pub(super) struct DecoderMasks {
    self_attention: Option<Mask>,
    cross_attention: Option<Mask>,
}

/// Three sub-layers: self-attention or a recurrence, attention to the memory, and a feed-forward network.
#[derive(Module, Debug)]
pub(super) struct DecoderLayer {
    self_attention: Option<MultiHeadAttention>,
    self_attention_residual: Option<Residual>,
    /// In place of self-attention.
    recurrence: Option<Recurrence>,
    recurrence_residual: Option<Residual>,
    cross_attention: MultiHeadAttention,
    cross_attention_residual: Residual,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

impl Decoder {
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
            layers: (0..config.n_decoder_layers)
                .map(|_| DecoderLayer::new(config, device))
                .collect(),
            final_norm: config.final_norm.then(|| LayerNorm::new(config, device)),
            window: config.decoder_window,
        }
    }

    /// Projects the memory's keys and values in all layers: the state before the first token.
    ///
    /// # Shapes
    ///
    /// - `memory`: `[batch, src_len, d_model]`
    pub fn begin(&self, memory: &Memory) -> DecoderState {
        let (memory, memory_mask) = (&memory.states, memory.mask.clone());
        let [n_rows, _, _] = memory.dims();
        let layers = self.layers.iter().map(|layer| LayerState {
            own: layer.own_state(memory),
            cross_attention: layer.cross_attention.keys_values(memory.clone()),
        });
        DecoderState::new(layers.collect(), memory_mask, n_rows, memory.device())
    }

    /// Decodes the tokens that follow those in the state, and appends them to it.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`, embedded tokens
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if `x` and the state differ in batch size, or the state belongs to another decoder.
    pub fn forward(&self, x: Tensor<3>, state: &mut DecoderState) -> Tensor<3> {
        let (masks, mut recorders) = (AttentionMasks::default(), DecoderRecorders::off());
        self.forward_recorded(x, state, &masks, &mut recorders)
    }

    /// Like [`forward`](Self::forward), with masks in addition to causality and padding.
    pub(crate) fn forward_recorded(
        &self,
        x: Tensor<3>,
        state: &mut DecoderState,
        extra: &AttentionMasks,
        recorders: &mut DecoderRecorders,
    ) -> Tensor<3> {
        let [n_rows, len, _] = x.dims();
        assert_eq!(
            n_rows,
            state.n_rows(),
            "the state has as many rows as the target"
        );
        assert_eq!(
            self.layers.len(),
            state.layers.len(),
            "the state has as many layers as the decoder"
        );
        let has_attention = |layer: &DecoderLayer| layer.self_attention.is_some();
        assert!(
            extra.decoder.is_none() || self.layers.iter().all(has_attention),
            "a decoder with `decoder_mixing = \"ssru\"` has no self-attention to mask"
        );
        if extra.cross.is_some() {
            // The mask may differ between rows that share a memory.
            *state = state.clone().ungrouped();
        }
        let masks = self.masks(&x, state.n_decoded, state.memory_mask.clone(), extra);
        let rows_per_memory = state.rows_per_memory();
        let layers = self.layers.iter().zip(&mut state.layers);
        let x = layers.fold(x, |x, (layer, layer_state)| {
            layer.forward(x, layer_state, rows_per_memory, &masks, recorders)
        });
        recorders.cross_attention.split_groups(rows_per_memory, len);
        state.n_decoded += len;
        LayerNorm::forward_if_any(self.final_norm.as_ref(), x)
    }

    /// Returns the masks of every layer for tokens that follow `n_decoded` others.
    pub(super) fn masks(
        &self,
        x: &Tensor<3>,
        n_decoded: usize,
        memory_mask: Option<Mask>,
        extra: &AttentionMasks,
    ) -> DecoderMasks {
        let [_, len, _] = x.dims();
        let causal = Mask::causal_window(self.window, n_decoded, len, &x.device());
        DecoderMasks {
            self_attention: Mask::join(causal, extra.decoder.clone()),
            cross_attention: Mask::join(memory_mask, extra.cross.clone()),
        }
    }

    pub(super) fn set_matmul_precision(&mut self, matmul: MatmulPrecision) {
        for layer in &mut self.layers {
            if let Some(attention) = &mut layer.self_attention {
                attention.set_matmul_precision(matmul);
            }
            if let Some(recurrence) = &mut layer.recurrence {
                recurrence.set_matmul_precision(matmul);
            }
            layer.cross_attention.set_matmul_precision(matmul);
            layer.feed_forward.set_matmul_precision(matmul);
        }
    }
}

impl DecoderLayer {
    fn new(config: &TransformerConfig, device: &Device) -> Self {
        let attends = config.decoder_mixing == Mixing::SelfAttention;
        let recurs = config.decoder_mixing == Mixing::Ssru;
        Self {
            self_attention: attends.then(|| MultiHeadAttention::new(config, device)),
            self_attention_residual: attends.then(|| Residual::new(config, device)),
            recurrence: recurs.then(|| Recurrence::new(config, device)),
            recurrence_residual: recurs.then(|| Residual::new(config, device)),
            cross_attention: MultiHeadAttention::new(config, device),
            cross_attention_residual: Residual::new(config, device),
            feed_forward: FeedForward::new(config, device),
            feed_forward_residual: Residual::new(config, device),
        }
    }

    /// Returns the state before the first token, with a row for each row of the memory.
    fn own_state(&self, memory: &Tensor<3>) -> OwnState {
        let [n_rows, _, d_model] = memory.dims();
        match self.recurrence {
            Some(_) => {
                let options = (&memory.device(), memory.dtype());
                OwnState::Vector(Tensor::zeros([n_rows, d_model], options))
            }
            None => OwnState::Steps(None),
        }
    }

    /// Computes the layer for all target tokens at once. Keys and values come from two tensors, so that each has a
    /// separate gradient.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, tgt_len, d_model]`
    /// - `for_keys`, `for_values`: `[batch, src_len, d_model]`, the memory
    /// - returns: the shape of `x`
    pub(super) fn forward_all(
        &self,
        x: Tensor<3>,
        [for_keys, for_values]: [Tensor<3>; 2],
        masks: &DecoderMasks,
    ) -> Tensor<3> {
        let mut state = LayerState {
            own: self.own_state(&for_keys),
            cross_attention: self.cross_attention.keys_and_values(for_keys, for_values),
        };
        let mut recorders = DecoderRecorders::off();
        self.forward(x, &mut state, 1, masks, &mut recorders)
    }

    fn forward(
        &self,
        x: Tensor<3>,
        state: &mut LayerState,
        rows_per_memory: usize,
        masks: &DecoderMasks,
        recorders: &mut DecoderRecorders,
    ) -> Tensor<3> {
        let [n_rows, len, d_model] = x.dims();
        let x = self.see_past(x, &mut state.own, masks, recorders);
        let x = self.cross_attention_residual.forward(x, |x| {
            let attention = &self.cross_attention;
            let keys_values = state.cross_attention.clone();
            let mask = masks.cross_attention.as_ref();
            // The queries of rows that share a memory attend to it as queries of one row.
            let x = x.reshape([n_rows / rows_per_memory, rows_per_memory * len, d_model]);
            let x = attention.attend_recorded(x, keys_values, mask, &mut recorders.cross_attention);
            x.reshape([n_rows, len, d_model])
        });
        self.feed_forward_residual
            .forward(x, |x| self.feed_forward.forward(x))
    }

    /// Computes the first sub-layer, by which a token sees those before it.
    fn see_past(
        &self,
        x: Tensor<3>,
        state: &mut OwnState,
        masks: &DecoderMasks,
        recorders: &mut DecoderRecorders,
    ) -> Tensor<3> {
        let residuals = [&self.self_attention_residual, &self.recurrence_residual];
        let residual = residuals.into_iter().flatten().next();
        let residual = residual.expect("a layer has attention or a recurrence");
        residual.forward(x, |x| {
            match (&self.self_attention, &self.recurrence, state) {
                (Some(attention), _, OwnState::Steps(past)) => {
                    let later = attention.keys_values_for_one_use(x.clone());
                    let keys_values = match past.take() {
                        Some(earlier) => earlier.append(later),
                        None => later,
                    };
                    *past = Some(keys_values.clone());
                    let mask = masks.self_attention.as_ref();
                    attention.attend_recorded(x, keys_values, mask, &mut recorders.self_attention)
                }
                (_, Some(recurrence), OwnState::Vector(cell)) => recurrence.forward(x, cell),
                _ => panic!("the state belongs to another decoder"),
            }
        })
    }
}
