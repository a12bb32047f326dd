//! [`LanguageModel`]: one stack instead of two, for models of one text: GPT and BERT.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};

use super::dropout::Dropout;
use super::embedding::VocabularyMatrix;
use super::encoder::Encoder;
use super::init::validated;
use super::mask::Mask;
use super::norm::LayerNorm;
use super::position::PositionalEncoding;
use crate::config::{ConfigError, TransformerConfig};

/// One stack over embedded tokens, with a logit for every token at every position.
///
/// A decoder without cross-attention is an encoder with another mask. With [`Mask::causal`] this is a model that
/// predicts the next token (GPT), without it one that predicts a token from both sides (BERT). The embedding is also
/// the pre-softmax matrix (§3.4).
///
/// Models like BERT and GPT-2 have [`scale_embeddings`](TransformerConfig::scale_embeddings) `= false` and
/// [`Positions::Learned`](crate::config::Positions::Learned), which are not the defaults.
///
/// It is for training and for whole sequences. It has no cache, so each generated token computes all before it again;
/// no packed form; and no model directory: save it as a record of Burn.
///
/// # Example
///
/// ```
/// use burn::tensor::{Int, Tensor};
/// use transformer_core::model::LanguageModel;
/// use transformer_core::{Mask, TransformerConfig, device};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let model = LanguageModel::init(11, &config, &device)?;
/// let ids = Tensor::<2, Int>::from_data([[2, 8, 5]], &device);
/// let logits = model.forward(ids, Mask::causal(0, 3, &device));
/// assert_eq!(logits.dims(), [1, 3, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct LanguageModel {
    vocabulary: VocabularyMatrix,
    positions: PositionalEncoding,
    embedding_norm: Option<LayerNorm>,
    dropout: Dropout,
    stack: Encoder,
}

impl LanguageModel {
    /// Builds the model with random weights: `n_encoder_layers` layers of the config, and `vocab_size` tokens.
    ///
    /// The config's vocabularies, their tying, and the decoder are not used. To train it, build it on
    /// `device.autodiff()`.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if `vocab_size` or the config is not valid. The config's own vocabularies are not
    /// checked.
    pub fn init(
        vocab_size: usize,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Self, ConfigError> {
        TransformerConfig::validate_vocab_size("vocab_size", vocab_size)?;
        let config = TransformerConfig {
            src_vocab_size: vocab_size,
            tgt_vocab_size: vocab_size,
            ..config.clone()
        };
        validated(&config, || Self {
            vocabulary: VocabularyMatrix::new(vocab_size, &config, device),
            positions: PositionalEncoding::new(&config, device),
            embedding_norm: LayerNorm::of_embedding(&config, device),
            dropout: Dropout::new(config.dropout),
            stack: Encoder::new(&config, device),
        })
    }

    /// Returns the logits of every position.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`
    /// - `mask`: `[batch or 1, n_heads or 1, len or 1, len]`
    /// - returns: `[batch, len, vocab]`
    ///
    /// # Panics
    ///
    /// Panics if the mask does not fit, or if `len` exceeds the learned positions.
    pub fn forward(&self, ids: Tensor<2, Int>, mask: Option<Mask>) -> Tensor<3> {
        let x = self.stack.forward(self.embed(ids), mask);
        self.vocabulary.logits(x)
    }

    /// Like [`forward`](Self::forward), and returns the attention weights of every layer too.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`
    /// - `mask`: `[batch or 1, n_heads or 1, len or 1, len]`
    /// - returns: `[batch, len, vocab]`, and for each layer `[batch, n_heads, len, len]`
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn forward_with_weights(
        &self,
        ids: Tensor<2, Int>,
        mask: Option<Mask>,
    ) -> (Tensor<3>, Vec<Tensor<4>>) {
        let (x, weights) = self.stack.forward_with_weights(self.embed(ids), mask);
        (self.vocabulary.logits(x), weights)
    }

    fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let x = self.vocabulary.embed(ids); // [batch, len, d_model]
        let x = self.positions.add_to(x, 0);
        let x = LayerNorm::forward_if_any(self.embedding_norm.as_ref(), x);
        self.dropout.forward(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;
    use crate::weights::fill;

    const VOCAB: usize = 9;

    /// Returns the largest change of a logit at each position when the last of four tokens changes.
    fn changes(is_causal: bool) -> Vec<f32> {
        let (_, device) = device::choose(None).expect("there is a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            ..TransformerConfig::tiny(VOCAB, VOCAB)
        };
        let model = LanguageModel::init(VOCAB, &config, &device).expect("the config is valid");
        let model = fill(model, 1);
        let logits = |last: i32| {
            let ids = Tensor::<2, Int>::from_data([[4, 7, 5, last]], &device);
            model.forward(ids, Mask::causal(0, 4, &device).filter(|_| is_causal))
        };
        let change = (logits(6) - logits(8)).abs().max_dim(2);
        change.into_data().iter::<f32>().collect()
    }

    /// Returns the error message for a size of the vocabulary, with a config for vocabularies of size `other`.
    fn refusal(vocab_size: usize, other: usize) -> Option<String> {
        let (_, device) = device::choose(None).expect("there is a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            ..TransformerConfig::tiny(other, other)
        };
        let model = LanguageModel::init(vocab_size, &config, &device);
        model.err().map(|error| error.to_string())
    }

    #[test]
    fn a_vocabulary_without_a_word_is_refused() {
        assert_eq!(
            refusal(4, VOCAB).as_deref(),
            Some("`vocab_size` is 4; choose at least 5: the 4 special tokens and one more")
        );
    }

    #[test]
    fn a_vocabulary_that_is_too_large_is_refused_before_it_is_reserved() {
        assert_eq!(
            refusal(16_777_217, VOCAB).as_deref(),
            Some("`vocab_size` is 16777217; choose at most 16777216")
        );
    }

    #[test]
    fn the_vocabularies_of_the_config_are_not_checked() {
        assert_eq!(refusal(VOCAB, 0), None);
    }

    #[test]
    fn behind_a_causal_mask_a_token_changes_no_logit_before_it() {
        let changes = changes(true);
        assert_eq!(changes[..3], [0.0; 3]);
        assert!(changes[3] > 0.0);
    }

    #[test]
    fn without_a_mask_a_token_changes_the_logits_of_all() {
        assert!(changes(false).iter().all(|change| *change > 0.0));
    }
}
