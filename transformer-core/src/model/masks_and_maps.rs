//! The passes through a [`Transformer`] or its [`Decoder`] with extra masks and with recorded attention weights.

use burn::tensor::{Int, Tensor};

use super::decoder::Decoder;
use super::mask::AttentionMasks;
use super::memory::Memory;
use super::recording::{AttentionMaps, DecoderRecorders, Recorder};
use super::state::DecoderState;
use super::transformer::Transformer;
use crate::padded::Padded;

impl Decoder {
    /// Like [`forward`](Self::forward), with masks in addition to causality and the memory's padding;
    /// stores the attention weights of the decoder, to itself and to the memory, in `maps`.
    ///
    /// A mask for the encoder has no effect.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does, and if the shape of a mask does not match.
    pub fn forward_with(
        &self,
        x: Tensor<3>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let mut recorders = DecoderRecorders {
            self_attention: Recorder::for_maps(maps.as_deref()),
            cross_attention: Recorder::for_maps(maps.as_deref()),
        };
        let features = self.forward_recorded(x, state, masks, &mut recorders);
        if let Some(maps) = maps {
            maps.decoder = recorders.self_attention.into_weights();
            maps.cross = recorders.cross_attention.into_weights();
        }
        features
    }
}

impl Transformer {
    /// Like [`encode`](Self::encode), with masks in addition to padding; stores the encoder's
    /// attention weights in `maps`.
    ///
    /// # Panics
    ///
    /// Panics as [`encode`](Self::encode) does, and if the shape of a mask does not match.
    pub fn encode_with(
        &self,
        src: &Padded,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Memory {
        let mut recorder = Recorder::for_maps(maps.as_deref());
        let memory = self.encode_recorded(src, masks, &mut recorder);
        if let Some(maps) = maps {
            maps.encoder = recorder.into_weights();
        }
        memory
    }

    /// Like [`decode`](Self::decode), with masks in addition to causality and padding; stores the
    /// attention weights of the decoder, to itself and to the memory, in `maps`.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, starting with BOS in the first call
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`decode`](Self::decode) does, and if the shape of a mask does not match.
    pub fn decode_with(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let x = self.embed_tgt(tgt, state.n_decoded());
        self.project(self.decoder().forward_with(x, state, masks, maps))
    }

    /// Like [`forward`](Self::forward), with masks in addition to padding and causality; stores the
    /// weights of all attentions in `maps`.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does, and if the shape of a mask does not match.
    ///
    /// # Example
    ///
    /// ```
    /// use burn::tensor::{Int, Tensor};
    /// use transformer_core::{AttentionMaps, AttentionMasks, Padded, TransformerConfig, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
    /// let model = config.init(&device)?;
    /// let src = Padded::new(&[vec![4, 5, 6], vec![7]], &device);
    /// let tgt = Tensor::<2, Int>::from_data([[2, 8], [2, 9]], &device);
    /// let mut maps = AttentionMaps::default();
    /// model.forward_with(&src, tgt, &AttentionMasks::default(), Some(&mut maps));
    /// // Four layers of four heads, from two target tokens to three source tokens.
    /// assert_eq!(maps.cross.len(), 4);
    /// assert_eq!(maps.cross[0].dims(), [2, 4, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forward_with(
        &self,
        src: &Padded,
        tgt: Tensor<2, Int>,
        masks: &AttentionMasks,
        mut maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let memory = self.encode_with(src, masks, maps.as_deref_mut());
        self.decode_with(tgt, &mut self.begin(&memory), masks, maps)
    }

    /// Decodes the tokens that follow those in the state, and returns one layer's attention weights to the memory.
    ///
    /// [`decode_with`](Self::decode_with) stores the same weights in [`AttentionMaps::cross`]. Here the weights of the
    /// other layers and the logits are not computed, which makes word alignments of many sentences cheap.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, starting with BOS in the first call
    /// - returns: `[batch, n_heads, len, src_len]`
    ///
    /// # Panics
    ///
    /// Panics as [`decode`](Self::decode) does, and if the layer, counted from 0, does not exist.
    pub fn cross_attention(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        layer: usize,
    ) -> Tensor<4> {
        let mut recorders = DecoderRecorders {
            cross_attention: Recorder::one_layer(layer),
            ..DecoderRecorders::off()
        };
        let _ = self.decode_recorded(tgt, state, &AttentionMasks::default(), &mut recorders);
        let weights = recorders.cross_attention.into_weights().pop();
        weights.unwrap_or_else(|| panic!("the decoder has no layer {layer}, counted from 0"))
    }
}
