//! Linear layers over the tokens of a batch.

use burn::nn::Linear;
use burn::tensor::Tensor;

use super::affine::{affine, as_matrix};
use super::low_rank::LowRankAdapter;
use super::matmul::MatmulPrecision;

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

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;
    use crate::config::Initialization;
    use crate::device;
    use crate::model::affine::apply_transposed;

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
