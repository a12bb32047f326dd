//! Linear layers: how their matrices start, and how they are applied to sequences.

use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor};

/// Makes a linear layer with a Xavier-uniform matrix and a bias of zeros, as PyTorch's Transformer starts
/// (the paper does not say how).
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
    over_tokens(x, |tokens| linear.forward(tokens))
}

/// Applies a function to the tokens of all sentences at once.
///
/// # Shapes
///
/// - `x`: `[batch, len, d_in]`; the function turns `[batch * len, d_in]` into `[batch * len, d_out]`
/// - returns: `[batch, len, d_out]`
pub(crate) fn over_tokens(
    x: Tensor<3>,
    function: impl FnOnce(Tensor<2>) -> Tensor<2>,
) -> Tensor<3> {
    let [batch, len, d_in] = x.dims();
    let tokens = function(x.reshape([batch * len, d_in]));
    let [_, d_out] = tokens.dims();
    tokens.reshape([batch, len, d_out])
}
