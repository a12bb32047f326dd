//! Reading, replacing and freezing the embeddings of a [`Transformer`], for vectors that were trained elsewhere.

use burn::tensor::Tensor;

use super::transformer::Transformer;

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
