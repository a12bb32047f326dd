//! Linear layers: how their matrices start, and how they are applied to sequences.

use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor, module};
use rayon::prelude::*;

use crate::{device, taped};

/// Most rows of a product that libtorch computes faster from columns.
const FEW_ROWS: usize = 32;

/// Most rows that libtorch multiplies with columns as fast as columns with them.
const VERY_FEW_ROWS: usize = 4;

/// Fewest multiplications that flex shares among threads by itself, unless they are of one row
/// (`PARALLEL_THRESHOLD` in burn-flex 0.22.1, `ops/matmul.rs`).
const SHARED_BY_FLEX: usize = 192 * 192 * 192;

/// Fewest numbers of a matrix for which it pays to call another thread.
const NUMBERS_PER_THREAD: usize = 1 << 17;

/// Says how the numbers of a linear layer's matrix lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Row by row, as it is read from a record.
    ByRows,
    /// Column by column.
    ByColumns,
}

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

/// Writes the matrix of a linear layer column by column in memory; its shape and its numbers stay.
pub(crate) fn lay_by_columns(linear: &mut Linear) {
    linear.weight = linear.weight.clone().map(|matrix| {
        let [d_in, d_out] = matrix.dims();
        // A tensor of one axis has no gaps, so the numbers are copied in this order.
        let numbers: Tensor<1> = matrix.transpose().flatten(0, 1);
        numbers.reshape([d_out, d_in]).transpose()
    });
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
pub(crate) fn apply(linear: &Linear, layout: Layout, x: Tensor<3>) -> Tensor<3> {
    over_tokens(x, |tokens| {
        let (weight, bias) = (
            linear.weight.val(),
            linear.bias.as_ref().map(|bias| bias.val()),
        );
        if let Some(product) = multiply_few(&tokens, &weight, layout) {
            return match bias {
                Some(bias) => product + bias.unsqueeze(),
                None => product,
            };
        }
        let taped = taped::linear(&tokens, &weight, bias.as_ref());
        taped.unwrap_or_else(|| module::linear(tokens, weight, bias))
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
    let layout = match device::reads_columns(&x.device()) {
        true => Layout::ByColumns,
        false => Layout::ByRows,
    };
    let matrix = rows.transpose();
    over_tokens(x, |tokens| {
        let product = multiply_few(&tokens, &matrix, layout);
        product.unwrap_or_else(|| tokens.matmul(matrix))
    })
}

/// Multiplies few tokens with a matrix in a way that is faster than the backend's own; `None` where there is
/// none, and where gradients are recorded.
///
/// # Shapes
///
/// - `tokens`: `[n, d_in]`
/// - `matrix`: `[d_in, d_out]`
/// - returns: `[n, d_out]`
fn multiply_few(tokens: &Tensor<2>, matrix: &Tensor<2>, layout: Layout) -> Option<Tensor<2>> {
    let [n, _] = tokens.dims();
    let [d_in, d_out] = matrix.dims();
    let device = tokens.device();
    if device.is_autodiff() {
        return None;
    }
    let is_left_to_one = n == 1 || n * d_in * d_out < SHARED_BY_FLEX;
    match layout {
        Layout::ByRows if is_left_to_one && device::leaves_threads_idle(&device) => {
            multiply_on_threads(tokens, matrix)
        }
        Layout::ByColumns if (VERY_FEW_ROWS + 1..=FEW_ROWS).contains(&n) => {
            let columns = matrix.clone().transpose();
            Some(columns.matmul(tokens.clone().transpose()).transpose())
        }
        Layout::ByRows | Layout::ByColumns => None,
    }
}

/// Multiplies tokens with a matrix, every thread having some of its columns; `None` if it is small.
fn multiply_on_threads(tokens: &Tensor<2>, matrix: &Tensor<2>) -> Option<Tensor<2>> {
    let [d_in, d_out] = matrix.dims();
    let n_parts = rayon::current_num_threads().min(d_in * d_out / NUMBERS_PER_THREAD);
    if n_parts < 2 {
        return None;
    }
    let width = d_out.div_ceil(n_parts);
    let starts = (0..d_out).into_par_iter().step_by(width);
    let parts = starts.map(|start| {
        let columns = matrix.clone().narrow(1, start, width.min(d_out - start));
        tokens.clone().matmul(columns)
    });
    Some(Tensor::cat(parts.collect(), 1))
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
    fn two_threads_multiply_what_one_does() {
        let (x, matrix, expected) = product();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let pool = pool.expect("two threads can be started");
        let tokens = x.reshape([7, 512]);
        let found = pool.install(|| multiply_on_threads(&tokens, &matrix));
        let found = found.expect("half a million numbers are for two threads");
        assert_close(found.unsqueeze(), expected);
    }

    #[test]
    fn a_layer_on_threads_is_its_product_and_its_bias() {
        let (x, matrix, expected) = product();
        let mut layer = linear(512, 1031, true, &x.device());
        layer.weight = layer.weight.map(|_| matrix);
        layer.bias = layer.bias.map(|bias| bias.map(|zeros| zeros + 0.25));
        assert_close(apply(&layer, Layout::ByRows, x), expected + 0.25);
    }

    #[test]
    fn a_layer_by_columns_is_its_product() {
        let (x, matrix, expected) = product();
        let mut layer = linear(512, 1031, false, &x.device());
        layer.weight = layer.weight.map(|_| matrix);
        lay_by_columns(&mut layer);
        assert_close(apply(&layer, Layout::ByColumns, x), expected);
    }

    #[test]
    fn rows_on_threads_are_the_columns_of_a_product() {
        let (x, matrix, expected) = product();
        assert_close(apply_rows(matrix.transpose(), x), expected);
    }
}
