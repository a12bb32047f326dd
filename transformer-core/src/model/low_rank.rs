//! [`LowRankAdapter`]: what is added to a matrix that is not trained itself (Hu et al. 2021,
//! <https://arxiv.org/abs/2106.09685>).

use burn::module::{Module, Param, Reparameterization};
use burn::tensor::Tensor;

use super::affine::affine;
use super::dropout::Dropout;
use super::matmul::MatmulPrecision;
use crate::config::AdapterConfig;

/// What is added to the matrix of a linear layer: `scale·A·B`.
#[derive(Module, Debug)]
pub(super) struct LowRankAdapter {
    /// `[d_in, rank]`.
    a: Param<Tensor<2>>,
    /// `[rank, d_out]`.
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
    /// - `a`: `[d_in, rank]`
    /// - `b`: `[rank, d_out]`
    pub(super) fn new(a: Tensor<2>, b: Tensor<2>, config: &AdapterConfig) -> Self {
        Self {
            a: Param::from_tensor(a),
            b: Param::from_tensor(b),
            scale: config.alpha / config.rank as f64,
            dropout: Dropout::new(config.dropout),
        }
    }

    /// Computes `scale·(x·A)·B`, with dropout of `x`. The product `A·B`, which is as large as the matrix, is never
    /// computed, and neither is its gradient.
    ///
    /// # Shapes
    ///
    /// - `x`: `[n, d_in]`
    /// - returns: `[n, d_out]`
    pub(super) fn forward(&self, x: Tensor<2>, matmul: MatmulPrecision) -> Tensor<2> {
        let down = affine(self.dropout.forward(x), self.a.val(), None, matmul); // [n, rank]
        affine(down * self.scale, self.b.val(), None, matmul)
    }
}

impl Reparameterization for LowRankAdapter {
    const NAME: &'static str = "adapter";

    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        let product = self.a.val().matmul(self.b.val()) * self.scale;
        let product = product.reshape(base.shape());
        base + product
    }
}
