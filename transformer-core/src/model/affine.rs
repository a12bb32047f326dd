//! The product of a linear layer, by the fastest kernel that there is.

use burn::tensor::{Tensor, module};

use super::matmul::MatmulPrecision;
use crate::cpu;

/// Computes `x·W + b`, of which the product is in this precision.
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
    let output = cpu::linear(&x, &weight, bias.as_ref());
    output.unwrap_or_else(|| module::linear(x, weight, bias))
}
