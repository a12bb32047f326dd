//! The feed-forward network "as two convolutions with kernel size 1" (§3.3), which are Burn's here.

use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Tensor, TensorData, activation};
use transformer_core::TransformerConfig;
use transformer_core::model::FeedForward;
use transformer_core::random::SplitMix64;

use crate::model::{difference, test_device, tolerances};
use crate::weights::{Entry, fill, tensor, weights};

/// Applies a linear layer as a convolution of kernel size 1.
///
/// # Shapes
///
/// - `x`: `[batch, d_in, len]`: convolutions have the channels before the positions
/// - returns: `[batch, d_out, len]`
fn convolve(x: Tensor<3>, weight: &Entry, bias: &Entry) -> Tensor<3> {
    let device = x.device();
    let data = |entry: &Entry| TensorData::new(entry.values.clone(), entry.shape.clone());
    let matrix = Tensor::<2>::from_data(data(weight), &device); // [d_in, d_out]
    let kernel = matrix.transpose().unsqueeze_dim(2); // [d_out, d_in, 1]
    let bias = Tensor::<1>::from_data(data(bias), &device);
    conv1d(x, kernel, Some(bias), ConvOptions::new([1], [0], [1], 1))
}

#[test]
fn the_network_equals_two_convolutions_of_kernel_size_one() {
    let device = test_device();
    let config = TransformerConfig {
        d_model: 6,
        d_ff: 11,
        n_heads: 2,
        ..TransformerConfig::tiny(9, 9)
    };
    let network = FeedForward::init(&config, &device).expect("the config is valid");
    // Biases begin with 0, which would hide a missing one.
    let network = fill(network, 7);
    let x = tensor([2, 5, 6], &mut SplitMix64::new(7), &device);
    let parameters = weights(&network);
    let part = |name: &str| &parameters[name];
    let channels = x.clone().swap_dims(1, 2);
    let inner = convolve(channels, part("inner.weight"), part("inner.bias"));
    let outer = convolve(
        activation::relu(inner),
        part("outer.weight"),
        part("outer.bias"),
    );
    let found = difference(network.forward(x), outer.swap_dims(1, 2));
    assert!(found < tolerances().logits, "{found:e}");
}
