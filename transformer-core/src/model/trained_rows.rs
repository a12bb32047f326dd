//! [`TrainedRows`]: trained rows of a matrix with other rows that are frozen.

use burn::module::{Module, Param, ParamId, Reparameterization};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData, module};

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
    /// Creates rows that do not differ from those of the matrix yet.
    pub(super) fn new(ids: &[u32], n_columns: usize, device: &Device) -> Self {
        let ids: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
        let n = ids.len();
        let ids = Tensor::from_data(TensorData::new(ids, [n]), device);
        Self {
            change: Param::from_tensor(Tensor::zeros([n, n_columns], device)),
            ids: Param::initialized(ParamId::new(), ids),
        }
    }

    /// Returns the indices of the rows: `[n]`.
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
