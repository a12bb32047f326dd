//! Products of tokens with matrices, by the fastest available kernels.

use burn::tensor::{Tensor, module};

use super::matmul::MatmulPrecision;
use crate::cpu;

/// Computes `x·W + b`, with the product in this precision.
///
/// # Shapes
///
/// - `x`: `[n, d_in]`
/// - `weight`: `[d_in, d_out]`
/// - `bias`: `[d_out]`
/// - returns: `[n, d_out]`
pub(super) fn affine(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    matmul: MatmulPrecision,
) -> Tensor<2> {
    if matmul.is_reduced_for(&x) {
        let product = matmul.multiply(x, weight);
        return match bias {
            Some(bias) => product + bias.unsqueeze(),
            None => product,
        };
    }
    let output = cpu::linear(&x, &weight, bias.as_ref(), matmul.on_cpu(&x));
    output.unwrap_or_else(|| module::linear(x, weight, bias))
}

/// Multiplies every token by the transpose of a matrix: `x·Wᵀ`.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`
/// - `weight`: `[d_out, d_in]`
/// - returns: `[batch, len, d_out]`
pub(super) fn apply_transposed(weight: Tensor<2>, x: Tensor<3>) -> Tensor<3> {
    as_matrix(x, |tokens| {
        let output = cpu::linear_transposed(&tokens, &weight);
        output.unwrap_or_else(|| tokens.matmul(weight.transpose()))
    })
}

/// Applies a function to all tokens of the batch as rows of one matrix.
///
/// With three dimensions, Burn may multiply each sentence by the matrix separately, and then
/// compute a gradient of the matrix for each of them.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`; `function` turns `[batch * len, d_in]` into `[batch * len, d_out]`
/// - returns: `[batch, len, d_out]`
pub(super) fn as_matrix(x: Tensor<3>, function: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Tensor<3> {
    let [batch, len, d_in] = x.dims();
    let tokens = function(x.reshape([batch * len, d_in]));
    let [_, d_out] = tokens.dims();
    tokens.reshape([batch, len, d_out])
}
