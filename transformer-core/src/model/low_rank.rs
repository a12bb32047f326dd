//! [`LowRankAdapter`]: a trained term of a matrix that is frozen itself (Hu et al. 2021,
//! <https://arxiv.org/abs/2106.09685>); and [`TrainedRows`] of a matrix with other rows that are frozen.

use burn::module::{Module, Param, ParamId, Reparameterization};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData, module};

use super::dropout::Dropout;
use super::linear::{affine, apply_transposed, as_matrix};
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

/// Factor of the trained change. It lets the rows train at the rate of low-rank adapters, which is three to ten times
/// that of all weights. 0.15, 0.3 and 1 were compared (docs/lab-notes.md).
const SCALE: f64 = 0.25;

/// The trained change of some rows of a matrix `[rows, columns]`.
#[derive(Module, Debug)]
pub(super) struct TrainedRows {
    /// The change divided by [`SCALE`]: `[n, columns]`.
    change: Param<Tensor<2>>,
    /// The indices of the rows: `[n]`. A parameter, so that a record has them.
    ids: Param<Tensor<1, Int>>,
}

impl TrainedRows {
    pub(super) fn new(ids: &[u32], n_columns: usize, device: &Device) -> Self {
        let ids: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
        let n = ids.len();
        let ids = Tensor::from_data(TensorData::new(ids, [n]), device);
        Self {
            change: Param::from_tensor(Tensor::zeros([n, n_columns], device)),
            ids: Param::initialized(ParamId::new(), ids),
        }
    }

    pub(super) fn ids(&self) -> Tensor<1, Int> {
        self.ids.val()
    }

    /// Returns the change that is added to the rows: `[n, columns]`.
    pub(super) fn change(&self) -> Tensor<2> {
        self.change.val() * SCALE
    }

    /// Returns the vectors of tokens.
    ///
    /// # Shapes
    ///
    /// - `base`: `[vocab, d_model]`
    /// - `ids`: `[batch, len]`
    /// - returns: `[batch, len, d_model]`
    pub(super) fn embed(&self, base: Tensor<2>, ids: Tensor<2, Int>) -> Tensor<3> {
        let change = self.change();
        let ([n, width], [vocab_size, _]) = (change.dims(), base.dims());
        let device = change.device();
        // The row of `change` for each token of the vocabulary: `n` for those that have none.
        let row_of_token = Tensor::<1, Int>::full([vocab_size], n as i64, &device).select_assign(
            0,
            self.ids(),
            Tensor::arange(-(n as i64)..0, &device),
            IndexingUpdateOp::Add,
        );
        let rows = row_of_token.select(0, ids.clone().flatten(0, 1));
        let changes = Tensor::cat(vec![change, Tensor::zeros([1, width], &device)], 0); // [n + 1, d_model]
        let changes = module::embedding(changes, rows.reshape(ids.dims()));
        module::embedding(base, ids) + changes
    }
}

impl Reparameterization for TrainedRows {
    const NAME: &'static str = "trained_rows";

    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        let change = self.change();
        let shape = change.shape();
        base.select_assign(0, self.ids(), change.reshape(shape), IndexingUpdateOp::Add)
    }
}
