//! [`transposed`]: matrices in the layout of other programs.

use burn::tensor::TensorData;

use crate::import::names::transpose;

/// Returns the transpose of a matrix, from our `[inputs, outputs]` to `[outputs, inputs]`. Vectors stay as they
/// are.
pub(super) fn transposed(matrix: &TensorData) -> TensorData {
    let &[n_rows, n_columns] = &matrix.shape()[..] else {
        return matrix.clone();
    };
    let values: Vec<f32> = matrix.iter::<f32>().collect();
    TensorData::new(transpose(&values, n_columns), [n_columns, n_rows])
}
