//! Linear layers: how their matrices start, and how they are applied to sequences.

use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor, module};

use crate::cpu;

/// Makes a linear layer with a Xavier-uniform matrix and a bias of zeros (the paper does not say how they start).
///
/// PyTorch's `nn.Transformer` draws the queries', keys' and values' matrices as one, so that theirs are √2 times
/// smaller at first, and the biases of its feed-forward networks at random.
pub(crate) fn linear(d_in: usize, d_out: usize, bias: bool, device: &Device) -> Linear {
    let xavier = Initializer::XavierUniform { gain: 1.0 };
    Linear {
        weight: xavier.init_with([d_in, d_out], Some(d_in), Some(d_out), device),
        bias: bias.then(|| Initializer::Zeros.init([d_out], device)),
    }
}

/// Applies a linear layer to every token: `x·W + b`.
///
/// All tokens of the batch are rows of one matrix. Left in three dimensions, Burn may multiply sentence
/// by sentence, and then makes a gradient of the matrix for each before it adds them up.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`
/// - returns: `[batch, len, d_out]`
pub(crate) fn apply(linear: &Linear, x: Tensor<3>) -> Tensor<3> {
    over_tokens(x, |tokens| {
        let (weight, bias) = (
            linear.weight.val(),
            linear.bias.as_ref().map(|bias| bias.val()),
        );
        let at_once = cpu::linear(&tokens, &weight, bias.as_ref());
        at_once.unwrap_or_else(|| module::linear(tokens, weight, bias))
    })
}

/// Multiplies every token with the rows of a matrix: `x·Wᵀ`.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`
/// - `rows`: `[d_out, d_in]`
/// - returns: `[batch, len, d_out]`
pub(crate) fn apply_rows(rows: Tensor<2>, x: Tensor<3>) -> Tensor<3> {
    over_tokens(x, |tokens| {
        let at_once = cpu::linear_by_rows(&tokens, &rows);
        at_once.unwrap_or_else(|| tokens.matmul(rows.transpose()))
    })
}

/// Applies a function to the tokens of all sentences at once.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`; the function turns `[batch * len, d_in]` into `[batch * len, d_out]`
/// - returns: `[batch, len, d_out]`
fn over_tokens(x: Tensor<3>, function: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Tensor<3> {
    let [batch, len, d_in] = x.dims();
    let tokens = function(x.reshape([batch * len, d_in]));
    let [_, d_out] = tokens.dims();
    tokens.reshape([batch, len, d_out])
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::device;

    /// Of float32 sums of 512 products in another order, beside sums of up to 20.
    const TOLERANCE: f32 = 1e-4;

    fn numbers<const D: usize>(shape: [usize; D], factor: usize, device: &Device) -> Tensor<D> {
        let number = |place: usize| ((place * factor) % 211) as f32 / 211.0 - 0.5;
        let numbers: Vec<f32> = (0..shape.iter().product()).map(number).collect();
        Tensor::from_data(TensorData::new(numbers, shape), device)
    }

    fn assert_close(found: Tensor<3>, expected: Tensor<2>) {
        let found: Vec<f32> = found.into_data().iter::<f32>().collect();
        let expected: Vec<f32> = expected.into_data().iter::<f32>().collect();
        assert_eq!(found.len(), expected.len());
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < TOLERANCE;
        assert!(found.iter().zip(&expected).all(close));
    }

    /// Returns seven tokens, a matrix whose columns no two threads can share evenly, and their product.
    fn product() -> (Tensor<3>, Tensor<2>, Tensor<2>) {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests have a backend");
        let x = numbers([1, 7, 512], 5, &device);
        let matrix = numbers([512, 1031], 13, &device);
        let expected = x.clone().reshape([7, 512]).matmul(matrix.clone());
        (x, matrix, expected)
    }

    #[test]
    fn a_layer_is_its_product_and_its_bias() {
        let (x, matrix, expected) = product();
        let mut layer = linear(512, 1031, true, &x.device());
        layer.weight = layer.weight.map(|_| matrix);
        layer.bias = layer.bias.map(|bias| bias.map(|zeros| zeros + 0.25));
        assert_close(apply(&layer, x), expected + 0.25);
    }

    #[test]
    fn rows_are_the_columns_of_a_product() {
        let (x, matrix, expected) = product();
        assert_close(apply_rows(matrix.transpose(), x), expected);
    }
}
