//! [`LowRankAdapter`]: a trained term of a matrix that is frozen itself (Hu et al. 2021,
//! <https://arxiv.org/abs/2106.09685>).

use burn::module::{Module, Param, Reparameterization};
use burn::tensor::{Int, Tensor, module};

use super::affine::{affine, apply_transposed, as_matrix};
use super::dropout::Dropout;
use super::matmul::MatmulPrecision;
use crate::config::AdapterConfig;

/// The trained term of a frozen matrix `[rows, columns]`: `scale·A·B`.
///
/// For a linear layer, the rows of the matrix are the input features; for embeddings, the tokens. Neither layers nor
/// embeddings compute the product `A·B`, which is as large as the matrix.
#[derive(Module, Debug)]
pub(super) struct LowRankAdapter {
    /// `[rows, rank]`.
    a: Param<Tensor<2>>,
    /// `[rank, columns]`.
    b: Param<Tensor<2>>,
    /// `alpha / rank`.
    scale: f64,
    dropout: Dropout,
}

impl LowRankAdapter {
    /// Creates an adapter from its two matrices.
    ///
    /// # Shapes
    ///
    /// - `a`: `[rows, rank]`
    /// - `b`: `[rank, columns]`
    pub(super) fn new(a: Tensor<2>, b: Tensor<2>, config: &AdapterConfig) -> Self {
        Self {
            a: Param::from_tensor(a),
            b: Param::from_tensor(b),
            scale: config.alpha / config.rank as f64,
            dropout: Dropout::new(config.dropout),
        }
    }

    /// Computes the term of a linear layer's output: `scale·(x·A)·B`, with dropout of `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[n, d_in]`
    /// - returns: `[n, d_out]`
    pub(super) fn forward(&self, x: Tensor<2>, matmul: MatmulPrecision) -> Tensor<2> {
        let down = affine(self.dropout.forward(x), self.a.val(), None, matmul); // [n, rank]
        affine(down * self.scale, self.b.val(), None, matmul)
    }

    /// Returns the term of the vectors of tokens: their rows of `scale·A·B`.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, len]`
    /// - returns: `[batch, len, d_model]`
    pub(super) fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let rows = module::embedding(self.a.val(), ids); // [batch, len, rank]
        as_matrix(rows * self.scale, |rows| {
            affine(rows, self.b.val(), None, MatmulPrecision::F32)
        })
    }

    /// Returns `A`, and `B` multiplied by the scale.
    pub(super) fn factors(&self) -> [Tensor<2>; 2] {
        [self.a.val(), self.b.val() * self.scale]
    }

    /// Computes the term of the logits of tokens: `scale·(x·Bᵀ)·Aᵀ`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, vocab]`
    pub(super) fn logits(&self, x: Tensor<3>) -> Tensor<3> {
        let down = apply_transposed(self.b.val(), x); // [batch, len, rank]
        apply_transposed(self.a.val(), down * self.scale)
    }
}

impl Reparameterization for LowRankAdapter {
    const NAME: &'static str = "adapter";

    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        let product = (self.a.val() * self.scale).matmul(self.b.val());
        let product = product.reshape(base.shape());
        base + product
    }
}
