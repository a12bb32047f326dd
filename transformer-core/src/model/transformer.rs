//! The whole model (§3, Figure 1): embeddings, encoder, decoder, projection.

use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::Initializer;
use burn::tensor::{Bool, Device, Int, Tensor, activation};

use super::attention_maps::{AttentionMaps, AttentionMasks, Recorder};
use super::decoder::{Decoder, DecoderRecorders};
use super::dropout::Dropout;
use super::embedding::VocabularyMatrix;
use super::encoder::Encoder;
use super::mask::Mask;
use super::memory::Memory;
use super::position::PositionalEncoding;
use super::state::DecoderState;
use crate::config::{ConfigError, TransformerConfig, Tying};
use crate::padded::Padded;

/// Translates sequences of token ids into scores for the next target token.
///
/// Generation goes [`encode`](Self::encode), [`begin`](Self::begin), then [`decode`](Self::decode) as
/// often as wanted; [`forward`](Self::forward) is the same three with all target tokens at once, so
/// there is no second path that could differ.
///
/// All ids must be of their side's vocabulary. Those of a source are checked as far as the [`Padded`] knows
/// them; those of a target tensor are not, since that would be a read from the device: backends on the CPU
/// panic at a wrong one, and those on GPUs compute with whatever lies behind the matrix.
///
/// # Example
///
/// ```
/// use burn::tensor::{Int, Tensor};
/// use transformer_core::{Padded, TransformerConfig, device};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let model = config.init(&device)?;
/// let src = Padded::new(&[vec![4, 5, 6], vec![7]], &device);
/// let tgt = Tensor::<2, Int>::from_data([[2, 8], [2, 9]], &device);
/// assert_eq!(model.forward(&src, tgt).dims(), [2, 2, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct Transformer {
    /// The source embedding; the target's and the output too, as far as they are tied.
    src_vocabulary: VocabularyMatrix,
    /// The target embedding, and the output if tied; absent where the source's serves.
    tgt_vocabulary: Option<VocabularyMatrix>,
    /// The pre-softmax matrix; absent where an embedding serves.
    output: Option<VocabularyMatrix>,
    /// `[tgt_vocab]`, added to the logits.
    output_bias: Option<Param<Tensor<1>>>,
    src_positions: PositionalEncoding,
    tgt_positions: PositionalEncoding,
    dropout: Dropout,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
}

impl TransformerConfig {
    /// Builds the model with fresh weights on the device.
    ///
    /// To train it, build it on `device.autodiff()`, or take it there with
    /// [`Module::train`].
    ///
    /// The weights are drawn here and in a fixed order, so that seeding the device first
    /// (`device.seed(…)`) fixes them.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config describes no model.
    pub fn init(&self, device: &Device) -> Result<Transformer, ConfigError> {
        self.validate()?;
        let model = self.build(device);
        // Burn draws a parameter when it is first read; reading all of them fixes the order.
        model.visit(&mut Draw);
        Ok(model)
    }

    /// Builds the model with weights that are drawn when they are first read.
    fn build(&self, device: &Device) -> Transformer {
        let vocabulary = |size| VocabularyMatrix::new(size, self, device);
        let tgt_vocabulary = match self.tying {
            Tying::All => None,
            Tying::Decoder | Tying::None => Some(vocabulary(self.tgt_vocab_size)),
        };
        let output = match self.tying {
            Tying::All | Tying::Decoder => None,
            Tying::None => Some(vocabulary(self.tgt_vocab_size)),
        };
        Transformer {
            src_vocabulary: vocabulary(self.src_vocab_size),
            tgt_vocabulary,
            output,
            output_bias: self
                .output_bias
                .then(|| Initializer::Zeros.init([self.tgt_vocab_size], device)),
            src_positions: PositionalEncoding::new(self, device),
            tgt_positions: PositionalEncoding::new(self, device),
            dropout: Dropout::new(self.dropout),
            encoder: Encoder::new(self, device),
            decoder: Decoder::new(self, device),
        }
    }
}

impl Transformer {
    /// Encodes a batch of source sequences.
    ///
    /// # Panics
    ///
    /// Panics if an id is not in the source vocabulary, or if learned positions run out.
    pub fn encode(&self, src: &Padded) -> Memory {
        self.encode_with(src, &AttentionMasks::default(), None)
    }

    /// Like [`encode`](Self::encode), with masks beyond padding, and puts the encoder's maps where they
    /// are asked for.
    ///
    /// # Panics
    ///
    /// Panics as [`encode`](Self::encode) does, and if a mask has another shape.
    pub fn encode_with(
        &self,
        src: &Padded,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Memory {
        let padding = src
            .mask()
            .map(|hidden| Mask::padding_of(hidden, src.has_empty()));
        src.assert_in_vocabulary(self.src_vocabulary.size());
        let embedded = self.src_vocabulary.embed(src.ids());
        let x = self.place(embedded, &self.src_positions, 0);
        let mut recorder = Recorder::serving(maps.as_deref());
        let mask = Mask::join(padding.clone(), masks.encoder.clone());
        let states = self.encoder.forward(x, mask, &mut recorder);
        if let Some(maps) = maps {
            maps.encoder = recorder.into_maps();
        }
        Memory {
            states,
            mask: padding,
        }
    }

    /// Prepares decoding: projects the memory's keys and values once for all steps.
    pub fn begin(&self, memory: &Memory) -> DecoderState {
        self.decoder.begin(&memory.states, memory.mask.clone())
    }

    /// Decodes the tokens that follow those in the state, and returns the features that
    /// [`project`](Self::project) turns into logits.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, beginning with BOS at the first call
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if `tgt` and the state differ in batch size, or if learned positions run out.
    pub fn decode_features(&self, tgt: Tensor<2, Int>, state: &mut DecoderState) -> Tensor<3> {
        self.decode_features_with(tgt, state, &AttentionMasks::default(), None)
    }

    fn decode_features_with(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let mut recorders = DecoderRecorders {
            self_attention: Recorder::serving(maps.as_deref()),
            cross_attention: Recorder::serving(maps.as_deref()),
        };
        let features = self.decode_recorded(tgt, state, masks, &mut recorders);
        if let Some(maps) = maps {
            maps.decoder = recorders.self_attention.into_maps();
            maps.cross = recorders.cross_attention.into_maps();
        }
        features
    }

    pub(super) fn decode_recorded(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        recorders: &mut DecoderRecorders,
    ) -> Tensor<3> {
        let embedded = self.tgt_vocabulary().embed(tgt);
        let x = self.place(embedded, &self.tgt_positions, state.n_decoded());
        self.decoder.forward(x, state, masks, recorders)
    }

    /// Turns decoded features into one logit for each token of the target vocabulary.
    ///
    /// # Shapes
    ///
    /// - `features`: `[batch, len, d_model]`
    /// - returns: `[batch, len, vocab]`
    pub fn project(&self, features: Tensor<3>) -> Tensor<3> {
        let logits = self.output_vocabulary().logits(features);
        match self.output_bias() {
            Some(bias) => logits + bias.unsqueeze(),
            None => logits,
        }
    }

    /// Returns the pre-softmax matrix (§3.4), for losses that fuse the projection.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub fn output_weight(&self) -> Tensor<2> {
        self.output_vocabulary().weight()
    }

    /// Returns the bias of the pre-softmax projection, if the config has one.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab]`
    pub fn output_bias(&self) -> Option<Tensor<1>> {
        self.output_bias.as_ref().map(Param::val)
    }

    /// Decodes the tokens that follow those in the state and moves the state on.
    ///
    /// The logits at place `t` score the token at `t + 1`. How the target is cut into calls does not
    /// change them.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, beginning with BOS at the first call; that ids are of the vocabulary is not checked
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `tgt` and the state differ in batch size, or if learned positions run out.
    pub fn decode(&self, tgt: Tensor<2, Int>, state: &mut DecoderState) -> Tensor<3> {
        self.project(self.decode_features(tgt, state))
    }

    /// Like [`decode`](Self::decode), with masks beyond causality and padding, and puts the maps of
    /// decoder and memory where they are asked for.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, beginning with BOS at the first call
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`decode`](Self::decode) does, and if a mask has another shape.
    pub fn decode_with(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        self.project(self.decode_features_with(tgt, state, masks, maps))
    }

    /// Scores all target tokens at once (teacher forcing).
    ///
    /// The target needs no padding mask: it is padded on the right, where causality hides it from all
    /// real tokens.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS; that ids are of the vocabulary is not checked
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `src` and `tgt` differ in batch size, and as [`encode`](Self::encode) does.
    pub fn forward(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        self.project(self.forward_features(src, tgt))
    }

    /// Like [`forward`](Self::forward), with masks beyond padding and causality, and puts the maps of
    /// all attentions where they are asked for.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does, and if a mask has another shape.
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

    /// Returns the probability of every token after each target token: `softmax(forward(…))`.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS
    /// - returns: `[batch, tgt_len, vocab]`, each row summing to 1
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn probs(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        activation::softmax(self.forward(src, tgt), 2)
    }

    /// Returns the logarithm of [`probs`](Self::probs), in nats, without taking it: it is finite where a
    /// probability is too small to be a number.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn log_probs(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        activation::log_softmax(self.forward(src, tgt), 2)
    }

    /// Like [`forward`](Self::forward), but stops before the projection.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS
    /// - returns: `[batch, tgt_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn forward_features(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        let mut state = self.begin(&self.encode(src));
        self.decode_features(tgt, &mut state)
    }

    /// Adds positions to embedded tokens and drops out features of the sum (§3.5, §5.4).
    fn place(&self, x: Tensor<3>, positions: &PositionalEncoding, offset: usize) -> Tensor<3> {
        let [_, len, _] = x.dims();
        let x = match positions.forward(offset, len, (&x.device(), x.dtype())) {
            Some(vectors) => x + vectors.unsqueeze(),
            None => x,
        };
        self.dropout.forward(x)
    }

    pub(super) fn src_vocabulary(&self) -> &VocabularyMatrix {
        &self.src_vocabulary
    }

    pub(super) fn src_vocabulary_mut(&mut self) -> &mut VocabularyMatrix {
        &mut self.src_vocabulary
    }

    pub(super) fn tgt_vocabulary(&self) -> &VocabularyMatrix {
        self.tgt_vocabulary.as_ref().unwrap_or(&self.src_vocabulary)
    }

    pub(super) fn tgt_vocabulary_mut(&mut self) -> &mut VocabularyMatrix {
        self.tgt_vocabulary
            .as_mut()
            .unwrap_or(&mut self.src_vocabulary)
    }

    fn output_vocabulary(&self) -> &VocabularyMatrix {
        self.output
            .as_ref()
            .unwrap_or_else(|| self.tgt_vocabulary())
    }
}

/// Reads every parameter, which makes Burn draw it.
pub(crate) struct Draw;

impl ModuleVisitor for Draw {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let _ = param.val();
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        let _ = param.val();
    }

    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        let _ = param.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;
    use crate::presets::Preset;

    #[test]
    fn the_module_of_every_preset_has_as_many_parameters_as_the_formula_says() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        for preset in Preset::ALL {
            let config = preset.config(4100, 4100);
            // Not drawn: the big model alone would take a gigabyte.
            let counted = config.build(&device).num_params();
            assert_eq!(config.parameter_count(), counted, "{preset}");
        }
    }
}
