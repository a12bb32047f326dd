//! The whole model (§3, Figure 1): embeddings, encoder, decoder, projection.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Bool, Device, Int, Tensor};

use super::decoder::Decoder;
use super::dropout::Dropout;
use super::embedding::VocabularyMatrix;
use super::encoder::Encoder;
use super::mask::Mask;
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
    src_positions: PositionalEncoding,
    tgt_positions: PositionalEncoding,
    dropout: Dropout,
    encoder: Encoder,
    decoder: Decoder,
}

/// Holds what the encoder made of a batch of source sequences.
#[derive(Clone, Debug)]
pub struct Memory {
    states: Tensor<3>,
    mask: Option<Mask>,
}

impl Memory {
    /// Returns the encoder's output.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, src_len, d_model]`
    pub fn states(&self) -> Tensor<3> {
        self.states.clone()
    }
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
        let vocabulary = |size| VocabularyMatrix::new(size, self, device);
        let tgt_vocabulary = match self.tying {
            Tying::All => None,
            Tying::Decoder | Tying::None => Some(vocabulary(self.tgt_vocab_size)),
        };
        let output = match self.tying {
            Tying::All | Tying::Decoder => None,
            Tying::None => Some(vocabulary(self.tgt_vocab_size)),
        };
        let model = Transformer {
            src_vocabulary: vocabulary(self.src_vocab_size),
            tgt_vocabulary,
            output,
            src_positions: PositionalEncoding::new(self, device),
            tgt_positions: PositionalEncoding::new(self, device),
            dropout: Dropout::new(self.dropout),
            encoder: Encoder::new(self, device),
            decoder: Decoder::new(self, device),
        };
        // Burn draws a parameter when it is first read; reading all of them fixes the order.
        model.visit(&mut Draw);
        Ok(model)
    }
}

impl Transformer {
    /// Encodes a batch of source sequences.
    pub fn encode(&self, src: &Padded) -> Memory {
        let mask = src
            .mask()
            .map(|hidden| Mask::padding(hidden, src.has_empty()));
        let embedded = self.src_vocabulary.embed(src.ids());
        let x = self.place(embedded, &self.src_positions, 0);
        Memory {
            states: self.encoder.forward(x, mask.as_ref()),
            mask,
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
        let embedded = self.tgt_vocabulary().embed(tgt);
        let x = self.place(embedded, &self.tgt_positions, state.n_decoded());
        self.decoder.forward(x, state)
    }

    /// Turns decoded features into one logit for each token of the target vocabulary.
    ///
    /// # Shapes
    ///
    /// - `features`: `[batch, len, d_model]`
    /// - returns: `[batch, len, vocab]`
    pub fn project(&self, features: Tensor<3>) -> Tensor<3> {
        self.output_vocabulary().logits(features)
    }

    /// Returns the pre-softmax matrix (§3.4), for losses that fuse the projection.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub fn output_weight(&self) -> Tensor<2> {
        self.output_vocabulary().weight()
    }

    /// Decodes the tokens that follow those in the state and moves the state on.
    ///
    /// The logits at place `t` score the token at `t + 1`. How the target is cut into calls does not
    /// change them.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, len]`, beginning with BOS at the first call
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `tgt` and the state differ in batch size, or if learned positions run out.
    pub fn decode(&self, tgt: Tensor<2, Int>, state: &mut DecoderState) -> Tensor<3> {
        self.project(self.decode_features(tgt, state))
    }

    /// Scores all target tokens at once (teacher forcing).
    ///
    /// The target needs no padding mask: it is padded on the right, where causality hides it from all
    /// real tokens.
    ///
    /// # Shapes
    ///
    /// - `tgt`: `[batch, tgt_len]`, each row beginning with BOS
    /// - returns: `[batch, tgt_len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if `src` and `tgt` differ in batch size, or if learned positions run out.
    pub fn forward(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        self.project(self.forward_features(src, tgt))
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
    /// Panics if `src` and `tgt` differ in batch size, or if learned positions run out.
    pub fn forward_features(&self, src: &Padded, tgt: Tensor<2, Int>) -> Tensor<3> {
        let mut state = self.begin(&self.encode(src));
        self.decode_features(tgt, &mut state)
    }

    /// Adds positions to embedded tokens and drops out features of the sum (§3.5, §5.4).
    fn place(&self, x: Tensor<3>, positions: &PositionalEncoding, offset: usize) -> Tensor<3> {
        let [_, len, _] = x.dims();
        let x = match positions.forward(offset, len, &x.device()) {
            Some(vectors) => x + vectors.unsqueeze(),
            None => x,
        };
        self.dropout.forward(x)
    }

    fn tgt_vocabulary(&self) -> &VocabularyMatrix {
        self.tgt_vocabulary.as_ref().unwrap_or(&self.src_vocabulary)
    }

    fn output_vocabulary(&self) -> &VocabularyMatrix {
        self.output
            .as_ref()
            .unwrap_or_else(|| self.tgt_vocabulary())
    }
}

/// Reads every parameter, which makes Burn draw it.
struct Draw;

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
