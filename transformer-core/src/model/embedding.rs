//! Token embeddings and the pre-softmax projection (§3.4), which can share one matrix; and reading, replacing and freezing
//! the embeddings of a [`Transformer`], for vectors that were trained elsewhere.

use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, module};

use super::init::validated;
use super::linear::apply_transposed;
use super::low_rank::{LowRankAdapter, TrainedRows};
use super::transformer::Transformer;
use crate::config::{ConfigError, TransformerConfig};

/// A partly trained matrix, in the parts that a fused loss needs.
#[derive(Clone, Debug)]
pub enum MatrixParts {
    /// A matrix with a low-rank adapter: it acts as `base + a·b`.
    LowRank {
        /// The frozen matrix, `[rows, columns]`.
        base: Tensor<2>,
        /// `[rows, rank]`.
        a: Tensor<2>,
        /// `[rank, columns]`, multiplied by `alpha / rank`.
        b: Tensor<2>,
    },
    /// A matrix with some trained rows.
    Rows {
        /// The matrix with the change added, `[rows, columns]`.
        matrix: Tensor<2>,
        /// The trained change of the rows, `[n, columns]`; it has the same gradient as the rows.
        change: Tensor<2>,
        /// The indices of these rows, `[n]`.
        ids: Tensor<1, Int>,
    },
}

/// One vector for each token of a vocabulary.
///
/// Tied matrices are one module, never two copies of its parameter: Burn's optimizer updates only
/// the first copy that it visits, and silently leaves the second unchanged.
#[derive(Module, Debug)]
pub struct VocabularyMatrix {
    /// `[vocab, d_model]`.
    weight: Param<Tensor<2>>,
    /// Factor of the embeddings: `√d_model`, or 1.
    scale: f64,
}

impl VocabularyMatrix {
    /// Builds the matrix of `vocab_size` tokens for the width of the config with random weights.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(
        vocab_size: usize,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Self, ConfigError> {
        validated(config, || Self::new(vocab_size, config, device))
    }

    /// Creates a matrix; its scaled embeddings have variance 1, unless the config initializes it as BERT does.
    pub(crate) fn new(vocab_size: usize, config: &TransformerConfig, device: &Device) -> Self {
        Self {
            weight: config
                .initialization
                .embeddings(vocab_size, config.d_model, device),
            scale: if config.scale_embeddings {
                (config.d_model as f64).sqrt()
            } else {
                1.0
            },
        }
    }

    /// Returns the number of tokens.
    pub fn size(&self) -> usize {
        self.weight.dims()[0]
    }

    pub(super) fn device(&self) -> Device {
        self.weight.device()
    }

    /// Returns the vectors of tokens, scaled.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`
    /// - returns: `[batch, len, d_model]`
    pub fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let embeddings = match (self.adapter(), self.trained_rows()) {
            (Some(adapter), _) => {
                module::embedding(self.weight.base(), ids.clone()) + adapter.embed(ids)
            }
            (None, Some(rows)) => rows.embed(self.weight.base(), ids),
            (None, None) => module::embedding(self.weight.val(), ids),
        };
        if self.scale == 1.0 {
            embeddings
        } else {
            embeddings * self.scale
        }
    }

    /// Returns a logit for every token of the vocabulary: `x·Wᵀ`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, vocab]`
    pub fn logits(&self, x: Tensor<3>) -> Tensor<3> {
        match self.adapter() {
            None => apply_transposed(self.weight.val(), x),
            Some(adapter) => apply_transposed(self.weight.base(), x.clone()) + adapter.logits(x),
        }
    }

    fn adapter(&self) -> Option<&LowRankAdapter> {
        self.weight.reparameterization()
    }

    fn trained_rows(&self) -> Option<&TrainedRows> {
        self.weight.reparameterization()
    }

    /// Returns the matrix in parts; `None` if all of it is trained, or nothing.
    pub(super) fn parts(&self) -> Option<MatrixParts> {
        if let Some(adapter) = self.adapter() {
            let (base, [a, b]) = (self.weight.base(), adapter.factors());
            return Some(MatrixParts::LowRank { base, a, b });
        }
        let rows = self.trained_rows()?;
        Some(MatrixParts::Rows {
            matrix: self.weight.val(),
            change: rows.change(),
            ids: rows.ids(),
        })
    }

    /// Returns the matrix, not scaled.
    ///
    /// # Shapes
    ///
    /// - returns: `[vocab, d_model]`
    pub fn weight(&self) -> Tensor<2> {
        self.weight.val()
    }

    /// Replaces the matrix; the new one is trained if the old one was.
    pub(super) fn replace(&mut self, weight: Tensor<2>) {
        assert_eq!(
            weight.dims(),
            self.weight.dims(),
            "the new embedding has the shape of the old one, [vocab, d_model]"
        );
        let is_tracked = self.weight.is_require_grad();
        let replaced = self.weight.clone().map(|old| {
            let (device, weight) = (old.device(), weight.into_data());
            match old.dtype().is_float() {
                true => Tensor::from_data(weight, (&device, old.dtype())),
                // A quantized weight is replaced by floats.
                false => Tensor::from_data(weight, &device),
            }
        });
        // On a device without autodiff, only the parameter stores whether it is trained.
        self.weight = match is_tracked {
            true => replaced.set_require_grad(true),
            false => replaced,
        };
    }

    /// Excludes the matrix from training. If it has an adapter, the adapter is merged first.
    pub(super) fn freeze(&mut self) {
        self.weight = self.weight.clone().materialize().set_require_grad(false);
    }
}

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

    /// Replaces the source embedding, and every matrix tied to it.
    ///
    /// Like the rows of [`src_embedding`](Self::src_embedding), those of `weight` do not contain
    /// the factor `√d_model` of a config that scales embeddings.
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

    /// Replaces the target embedding, and every matrix tied to it.
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

    /// Excludes the source embedding, and every matrix tied to it, from training.
    ///
    /// The parameter stays frozen through `train`, `valid`, `fork` and the optimizer. A record
    /// contains values only: freeze again after loading a model from a file.
    #[must_use]
    pub fn freeze_src_embedding(mut self) -> Self {
        self.src_vocabulary_mut().freeze();
        self
    }

    /// Excludes the target embedding, and every matrix tied to it, from training.
    ///
    /// See [`freeze_src_embedding`](Self::freeze_src_embedding).
    #[must_use]
    pub fn freeze_tgt_embedding(mut self) -> Self {
        self.tgt_vocabulary_mut().freeze();
        self
    }
}
