//! The whole model (§3, Figure 1): embeddings, encoder, decoder, projection.

use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, activation};

use super::decoder::Decoder;
use super::dropout::Dropout;
use super::embedding::{MatrixParts, VocabularyMatrix};
use super::encoder::Encoder;
use super::init::{draw_parameters, zeros};
use super::mask::{AttentionMasks, Mask};
use super::matmul::MatmulPrecision;
use super::memory::Memory;
use super::norm::LayerNorm;
use super::position::PositionalEncoding;
use super::recording::{DecoderRecorders, Recorder};
use super::state::DecoderState;
use crate::config::{ConfigError, TransformerConfig, Tying};
use crate::padded::Padded;
use crate::text::BOS;

/// The encoder-decoder: maps source and target token ids to logits of the next target token.
///
/// Generation calls [`encode`](Self::encode), [`begin`](Self::begin), then [`decode`](Self::decode)
/// once per step. [`forward`](Self::forward) calls the same three once, with all target tokens:
/// training and generation are one code path.
///
/// All ids must be in the vocabulary of their side. Source ids are checked if [`Padded`] was made from ids in CPU
/// memory. Target ids are not checked, because that would read from the device: CPU backends panic at an id out of
/// range, and GPU backends read memory beyond the embedding matrix.
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
    /// The source embedding; also the target embedding and the pre-softmax matrix, if tied.
    src_vocabulary: VocabularyMatrix,
    /// The target embedding; also the pre-softmax matrix, if tied. Absent if tied to the source's.
    tgt_vocabulary: Option<VocabularyMatrix>,
    /// The pre-softmax matrix; absent if an embedding is used.
    output: Option<VocabularyMatrix>,
    /// `[tgt_vocab]`, added to the logits.
    output_bias: Option<Param<Tensor<1>>>,
    src_positions: PositionalEncoding,
    tgt_positions: PositionalEncoding,
    src_embedding_norm: Option<LayerNorm>,
    tgt_embedding_norm: Option<LayerNorm>,
    dropout: Dropout,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    #[module(skip)]
    config: TransformerConfig,
    #[module(skip)]
    matmul: MatmulPrecision,
}

impl TransformerConfig {
    /// Builds the model with random weights on the device.
    ///
    /// To train it, build it on `device.autodiff()`, or move it there with [`Module::train`].
    ///
    /// The weights are drawn in this call and in a fixed order: seed the device before it
    /// (`device.seed(…)`) to make them reproducible.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(&self, device: &Device) -> Result<Transformer, ConfigError> {
        self.validate()?;
        let model = self.build(device);
        draw_parameters(&model);
        Ok(model)
    }

    /// Builds the model with weights that are drawn on first read, unless they are replaced before.
    pub(crate) fn build(&self, device: &Device) -> Transformer {
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
            output_bias: self.output_bias.then(|| zeros(self.tgt_vocab_size, device)),
            src_positions: PositionalEncoding::new(self, device),
            tgt_positions: PositionalEncoding::new(self, device),
            src_embedding_norm: LayerNorm::of_embedding(self, device),
            tgt_embedding_norm: LayerNorm::of_embedding(self, device),
            dropout: Dropout::new(self.dropout),
            encoder: Encoder::new(self, device),
            decoder: Decoder::new(self, device),
            config: self.clone(),
            matmul: MatmulPrecision::default(),
        }
    }
}

impl Transformer {
    /// Returns the hyper-parameters.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Sets the element type in which training multiplies the matrices of layers; single precision by default.
    ///
    /// It is not part of a saved model. The projection to logits stays in single precision: a logit of 16 bits would be
    /// rounded to an eighth. The fused loss of transformer-train, on CPUs, rounds its factors, and not the logits.
    #[must_use]
    pub fn with_matmul_precision(mut self, matmul: MatmulPrecision) -> Self {
        self.matmul = matmul;
        self.encoder.set_matmul_precision(matmul);
        self.decoder.set_matmul_precision(matmul);
        self
    }

    /// Returns the element type in which training multiplies matrices.
    pub fn matmul_precision(&self) -> MatmulPrecision {
        self.matmul
    }

    /// Returns the encoder, which takes vectors in place of tokens.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Returns the decoder, which takes vectors in place of tokens.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Returns the vectors that the encoder gets for source tokens: the sum of embedding and position, normalized if
    /// the config has `embedding_norm`, after dropout (§3.4, §3.5, §5.4).
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, src_len]`; not checked against the vocabulary
    /// - returns: `[batch, src_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the sequence exceeds the learned positions.
    pub fn embed_src(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let x = self.src_vocabulary.embed(ids);
        let x = self.src_positions.add_to(x, 0);
        self.finish_embedding(x, self.src_embedding_norm.as_ref())
    }

    /// Returns the vectors that the decoder gets for target tokens; the first token is at position `offset`, counted
    /// from 0.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`; not checked against the vocabulary
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the sequence exceeds the learned positions.
    pub fn embed_tgt(&self, ids: Tensor<2, Int>, offset: usize) -> Tensor<3> {
        let x = match self.config.start_from_zeros {
            true => {
                let is_start = ids.clone().equal_elem(BOS);
                let x = self.tgt_vocabulary().embed(ids);
                let shape = x.dims();
                x.mask_fill(is_start.unsqueeze_dim::<3>(2).expand(shape), 0.0)
            }
            false => self.tgt_vocabulary().embed(ids),
        };
        let x = self.tgt_positions.add_to(x, offset);
        self.finish_embedding(x, self.tgt_embedding_norm.as_ref())
    }

    /// Encodes a batch of source sequences.
    ///
    /// # Panics
    ///
    /// Panics if an id is not in the source vocabulary, or if the sequence exceeds the learned positions.
    pub fn encode(&self, src: &Padded) -> Memory {
        self.encode_recorded(src, &AttentionMasks::default(), &mut Recorder::Off)
    }

    pub(super) fn encode_recorded(
        &self,
        src: &Padded,
        masks: &AttentionMasks,
        recorder: &mut Recorder,
    ) -> Memory {
        let padding = Mask::of_padded(src);
        let x = self.embed_padded(src);
        let mask = Mask::join(padding.clone(), masks.encoder.clone());
        let states = self.encoder.forward_recorded(x, mask, recorder);
        Memory::new(states, padding)
    }

    /// Starts decoding: projects the memory's keys and values once for all steps.
    pub fn begin(&self, memory: &Memory) -> DecoderState {
        self.decoder.begin(memory)
    }

    /// Like [`decode`](Self::decode), but returns the features before the projection to logits.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, starting with BOS in the first call
    /// - returns: `[batch, len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if `tgt` and the state differ in batch size, or if the sequence exceeds the learned positions.
    pub fn decode_features(&self, tgt: Tensor<2, Int>, state: &mut DecoderState) -> Tensor<3> {
        let masks = AttentionMasks::default();
        self.decode_recorded(tgt, state, &masks, &mut DecoderRecorders::off())
    }

    pub(super) fn decode_recorded(
        &self,
        tgt: Tensor<2, Int>,
        state: &mut DecoderState,
        masks: &AttentionMasks,
        recorders: &mut DecoderRecorders,
    ) -> Tensor<3> {
        let x = self.embed_tgt(tgt, state.n_decoded());
        self.decoder.forward_recorded(x, state, masks, recorders)
    }

    /// Projects decoded features to one logit for each token of the target vocabulary.
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

    /// Returns the device of the model.
    pub fn device(&self) -> Device {
        self.output_vocabulary().device()
    }

    /// Returns the pre-softmax matrix (§3.4), for a loss that is fused with the projection.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub fn output_weight(&self) -> Tensor<2> {
        self.output_vocabulary().weight()
    }

    /// Returns the pre-softmax matrix in parts, if it has an adapter or trained rows: a fused loss then computes the
    /// gradients of small matrices instead of that of a large one.
    pub fn output_parts(&self) -> Option<MatrixParts> {
        self.output_vocabulary().parts()
    }

    /// Returns the bias of the pre-softmax projection, if the config has one.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab]`
    pub fn output_bias(&self) -> Option<Tensor<1>> {
        self.output_bias.as_ref().map(Param::val)
    }

    /// Decodes the tokens that follow those in the state, appends them to the state, and returns their logits.
    ///
    /// The logits at position `t` score the token at `t + 1`. They do not depend on how the target is split into calls.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, starting with BOS in the first call; ids are not checked against the vocabulary
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `tgt` and the state differ in batch size, or if the sequence exceeds the learned positions.
    pub fn decode(&self, tgt: Tensor<2, Int>, state: &mut DecoderState) -> Tensor<3> {
        self.project(self.decode_features(tgt, state))
    }

    /// Returns the logits of all target tokens at once (teacher forcing).
    ///
    /// The target needs no padding mask: its padding is on the right, where the causal mask hides it from all tokens.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS; ids are not checked against the vocabulary
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `src` and `tgt` differ in batch size, and as [`encode`](Self::encode) does.
    pub fn forward(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        self.project(self.forward_features(src, tgt))
    }

    /// Returns the probability of every token after each target token: `softmax(forward(…))`.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS
    /// - returns: `[batch, tgt_len, vocab]`, each row summing to 1
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn probs(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        activation::softmax(self.forward(src, tgt), 2)
    }

    /// Returns the logarithm of [`probs`](Self::probs), in nats, computed from the logits: it is
    /// finite where a probability underflows to 0.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn log_probs(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        activation::log_softmax(self.forward(src, tgt), 2)
    }

    /// Like [`forward`](Self::forward), but returns the features before the projection to logits.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row starting with BOS
    /// - returns: `[batch, tgt_len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn forward_features(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        let mut state = self.begin(&self.encode(src));
        self.decode_features(tgt, &mut state)
    }

    /// Checks the tokens of a source, and returns their vectors.
    pub(super) fn embed_padded(&self, src: &Padded) -> Tensor<3> {
        src.assert_in_vocabulary(self.src_vocabulary.size());
        self.embed_src(src.ids())
    }

    /// Normalizes the sums of embeddings and positions, if the config says so, and applies dropout to them (§5.4).
    fn finish_embedding(&self, x: Tensor<3>, norm: Option<&LayerNorm>) -> Tensor<3> {
        self.dropout.forward(LayerNorm::forward_if_any(norm, x))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::device;

    #[test]
    fn every_preset_has_as_many_parameters_as_the_table_says() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        for preset in Preset::ALL {
            let config = preset.config(4100, 4100);
            // Without drawing them: the big model alone would take a gigabyte.
            let counted = config.build(&device).num_params();
            assert_eq!(config.parameter_count(), counted, "{preset}");
        }
    }
}
