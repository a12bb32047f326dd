//! Token embeddings and the pre-softmax projection (§3.4): one matrix can be both.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor, module};

use super::linear::over_tokens;
use crate::config::TransformerConfig;

/// Holds one vector for each token of a vocabulary.
///
/// Tied uses share this one module, never two copies of its parameter: Burn's optimizer updates the
/// first copy that it meets and silently leaves the second behind.
#[derive(Module, Debug)]
pub(crate) struct VocabularyMatrix {
    /// `[vocab, d_model]`.
    weight: Param<Tensor<2>>,
    /// Factor on the embeddings: `√d_model`, or 1.
    scale: f64,
}

impl VocabularyMatrix {
    /// Starts from `N(0, d_model^-0.5)`, so that scaled embeddings have unit variance.
    pub(crate) fn new(vocab_size: usize, config: &TransformerConfig, device: &Device) -> Self {
        let d_model = config.d_model as f64;
        let normal = Initializer::Normal {
            mean: 0.0,
            std: d_model.powf(-0.5),
        };
        Self {
            weight: normal.init([vocab_size, config.d_model], device),
            scale: if config.scale_embeddings {
                d_model.sqrt()
            } else {
                1.0
            },
        }
    }

    /// Looks up the tokens' vectors, scaled.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`
    /// - returns: `[batch, len, d_model]`
    pub(crate) fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let embeddings = module::embedding(self.weight.val(), ids);
        if self.scale == 1.0 {
            embeddings
        } else {
            embeddings * self.scale
        }
    }

    /// Scores every token of the vocabulary: `x·Wᵀ`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, vocab]`
    pub(crate) fn logits(&self, x: Tensor<3>) -> Tensor<3> {
        over_tokens(x, |tokens| tokens.matmul(self.weight.val().transpose()))
    }

    /// Returns the matrix itself.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub(crate) fn weight(&self) -> Tensor<2> {
        self.weight.val()
    }
}
