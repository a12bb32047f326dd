//! Token embeddings and the pre-softmax projection (§3.4): one matrix can be both.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor, module};

use super::linear::apply_rows;
use super::transformer::Transformer;
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

    /// Returns the number of tokens.
    pub(crate) fn size(&self) -> usize {
        self.weight.val().dims()[0]
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
        apply_rows(self.weight.val(), x)
    }

    /// Returns the matrix itself.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub(crate) fn weight(&self) -> Tensor<2> {
        self.weight.val()
    }

    /// Puts another matrix in place of this one; it is trained, or not, as this one was.
    fn replace(&mut self, weight: Tensor<2>) {
        assert_eq!(
            weight.dims(),
            self.weight.dims(),
            "the embedding has the shape on the right, [vocab, d_model]"
        );
        let is_tracked = self.weight.is_require_grad();
        let replaced = self.weight.clone().map(|old| {
            let (device, weight) = (old.device(), weight.into_data());
            match old.dtype().is_float() {
                true => Tensor::from_data(weight, (&device, old.dtype())),
                // Weights that Burn has quantized give way to floats.
                false => Tensor::from_data(weight, &device),
            }
        });
        // On a plain device, the parameter itself remembers whether it is to be trained.
        self.weight = match is_tracked {
            true => replaced.set_require_grad(true),
            false => replaced,
        };
    }

    fn freeze(&mut self) {
        self.weight = self.weight.clone().set_require_grad(false);
    }
}

/// Embeddings from elsewhere, and embeddings that stay as they are.
impl Transformer {
    /// Returns the source embedding, before scaling.
    ///
    /// # Shapes
    ///
    /// - returns: `[src_vocab, d_model]`
    pub fn src_embedding(&self) -> Tensor<2> {
        self.src_vocabulary().weight()
    }

    /// Returns the target embedding, before scaling.
    ///
    /// # Shapes
    ///
    /// - returns: `[tgt_vocab, d_model]`
    pub fn tgt_embedding(&self) -> Tensor<2> {
        self.tgt_vocabulary().weight()
    }

    /// Puts a matrix in place of the source embedding, and of all that is tied to it.
    ///
    /// The rows are what stands before the factor `√d_model` of a config that scales embeddings, like
    /// the rows of [`src_embedding`](Self::src_embedding).
    ///
    /// # Shapes
    ///
    /// - `weight`: `[src_vocab, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if the matrix has another shape.
    #[must_use]
    pub fn with_src_embedding(mut self, weight: Tensor<2>) -> Self {
        self.src_vocabulary_mut().replace(weight);
        self
    }

    /// Puts a matrix in place of the target embedding, and of all that is tied to it.
    ///
    /// # Shapes
    ///
    /// - `weight`: `[tgt_vocab, d_model]`, before scaling
    ///
    /// # Panics
    ///
    /// Panics if the matrix has another shape.
    #[must_use]
    pub fn with_tgt_embedding(mut self, weight: Tensor<2>) -> Self {
        self.tgt_vocabulary_mut().replace(weight);
        self
    }

    /// Makes the source embedding, and all that is tied to it, stay as it is in training.
    ///
    /// The parameter remembers it through `train`, `valid`, `fork` and the optimizer. A record holds
    /// numbers only: freeze again after the model was built anew from a file.
    #[must_use]
    pub fn freeze_src_embedding(mut self) -> Self {
        self.src_vocabulary_mut().freeze();
        self
    }

    /// Makes the target embedding, and all that is tied to it, stay as it is in training.
    ///
    /// See [`freeze_src_embedding`](Self::freeze_src_embedding).
    #[must_use]
    pub fn freeze_tgt_embedding(mut self) -> Self {
        self.tgt_vocabulary_mut().freeze();
        self
    }
}
