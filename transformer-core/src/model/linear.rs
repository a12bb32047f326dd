//! Linear layers over the tokens of a batch, by the fastest available kernels.

use burn::nn::Linear;
use burn::tensor::{Tensor, module};

use super::low_rank::LowRankAdapter;
use super::matmul::MatmulPrecision;
use crate::cpu;
use crate::device::near_factors;

/// Applies a linear layer to every token: `x·W + b`, plus its adapter, if any. Products are in this precision.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`
/// - returns: `[batch, len, d_out]`
pub(super) fn apply(linear: &Linear, x: Tensor<3>, matmul: MatmulPrecision) -> Tensor<3> {
    as_matrix(x, |tokens| {
        let bias = linear.bias.as_ref().map(|bias| bias.val());
        match linear.weight.reparameterization::<LowRankAdapter>() {
            None => affine(tokens, linear.weight.val(), bias, matmul),
            Some(adapter) => {
                let output = affine(tokens.clone(), linear.weight.base(), bias, matmul);
                output + adapter.forward(tokens, matmul)
            }
        }
    })
}

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
    output.unwrap_or_else(|| match bias {
        Some(bias) if x.device().is_autodiff() => add_bias(module::linear(x, weight, None), bias),
        bias => module::linear(x, weight, bias),
    })
}

/// Adds a bias in a form in which its gradient, a sum over all tokens, has two short steps instead of a long one.
fn add_bias(x: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    let [n, d] = x.dims();
    let [a, b] = near_factors(n);
    let sum = x.reshape([a, b, d]) + bias.unsqueeze();
    sum.reshape([n, d])
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

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;
    use crate::config::Initialization;
    use crate::device;
    use crate::model::linear::apply_transposed;

    /// For `f32` sums of 512 products in another order, of absolute values up to 20.
    const TOLERANCE: f32 = 1e-4;

    fn values<const D: usize>(shape: [usize; D], factor: usize, device: &Device) -> Tensor<D> {
        let value = |index: usize| ((index * factor) % 211) as f32 / 211.0 - 0.5;
        let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
        Tensor::from_data(TensorData::new(values, shape), device)
    }

    fn assert_close(found: Tensor<3>, expected: Tensor<2>) {
        let found: Vec<f32> = found.into_data().iter::<f32>().collect();
        let expected: Vec<f32> = expected.into_data().iter::<f32>().collect();
        assert_eq!(found.len(), expected.len());
        let is_close = |(a, b): (&f32, &f32)| (a - b).abs() < TOLERANCE;
        assert!(found.iter().zip(&expected).all(is_close));
    }

    /// Returns seven tokens, a matrix with columns that several threads cannot share evenly, and their product.
    fn product() -> (Tensor<3>, Tensor<2>, Tensor<2>) {
        let requested = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
        let x = values([1, 7, 512], 5, &device);
        let matrix = values([512, 1031], 13, &device);
        let expected = x.clone().reshape([7, 512]).matmul(matrix.clone());
        (x, matrix, expected)
    }

    #[test]
    fn a_layer_computes_a_product_and_adds_its_bias() {
        let (x, matrix, expected) = product();
        let mut layer = Initialization::Xavier.linear(512, 1031, true, &x.device());
        layer.weight = layer.weight.map(|_| matrix);
        layer.bias = layer.bias.map(|bias| bias.map(|zeros| zeros + 0.25));
        assert_close(apply(&layer, x, MatmulPrecision::F32), expected + 0.25);
    }

    #[test]
    fn a_transposed_matrix_gives_the_same_product() {
        let (x, matrix, expected) = product();
        assert_close(apply_transposed(matrix.transpose(), x), expected);
    }
}

#[cfg(test)]
mod affine_tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::device;

    /// Also for a number of tokens without divisors.
    #[test]
    fn a_bias_in_two_steps_has_the_sum_and_the_gradient_of_a_broadcast_bias() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let device = device.autodiff();
        for n in [1, 7, 12] {
            let values: Vec<f32> = (0..3 * n).map(|it| (it * 5 % 7) as f32).collect();
            let x = Tensor::<2>::from_data(TensorData::new(values, [n, 3]), &device);
            let bias = Tensor::<1>::from_data([1.0, -2.0, 3.0], &device).require_grad();
            let outputs = [
                add_bias(x.clone(), bias.clone()),
                x.clone() + bias.clone().unsqueeze(),
            ];
            let [found, expected] = outputs.map(|output| {
                let gradients = (output.clone() * x.clone()).sum().backward();
                let gradient = bias.grad(&gradients).expect("the sum depends on the bias");
                (output.into_data(), gradient.into_data())
            });
            // Whole numbers: their sums are exact in any order.
            assert_eq!(found, expected);
        }
    }
}
