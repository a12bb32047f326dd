//! The loss from the decoder's features, with the projection onto the vocabulary (§3.4) included.
//!
//! The logits, tokens × vocabulary, are by far the largest tensor of a training step. They are therefore computed for
//! one chunk of the tokens at a time and discarded, outside the autodiff graph. The gradient is known in closed form,
//! and enters the graph through a surrogate loss.

use burn::tensor::{Int, Tensor};

use super::inputs::{LossGradients, LossInputs, LossSums, Projection};
use super::label_smoothing::LabelSmoothing;
use super::{cpu, tensors};

/// Computes the loss of tokens from their features, without gradients.
///
/// # Shapes
///
/// - `features`: `[n_tokens, d_model]`, the decoder's output
/// - `labels`: `[n_tokens]`, the gold tokens
///
/// # Panics
///
/// Panics if the shapes do not match or there are no tokens.
pub fn projected_loss(
    features: Tensor<2>,
    projection: Projection,
    labels: Tensor<1, Int>,
    smoothing: &LabelSmoothing,
) -> LossSums {
    let (inputs, ..) = LossInputs::new(features, projection, labels, smoothing, None);
    loss(inputs).0
}

/// Computes the loss of tokens and a surrogate loss that carries its gradient.
///
/// Calling `backward()` on the surrogate gives features and projection the gradient of `scale · smoothed`; the
/// projection gets it only if it is on an autodiff device. The surrogate is the scalar product of these inputs with
/// their gradients; its value has no meaning.
///
/// # Shapes
///
/// - `features`: `[n_tokens, d_model]`, on an autodiff device
/// - `labels`: `[n_tokens]`, the gold tokens
/// - returns: the summed losses, and the surrogate, `[1]`
///
/// # Panics
///
/// Panics if the shapes do not match or there are no tokens.
pub fn projected_loss_with_gradient(
    features: Tensor<2>,
    projection: Projection,
    labels: Tensor<1, Int>,
    smoothing: &LabelSmoothing,
    scale: f64,
) -> (LossSums, Tensor<1>) {
    let bias = projection.bias.clone().filter(Tensor::is_autodiff);
    let (inputs, features, trained) =
        LossInputs::new(features, projection, labels, smoothing, Some(scale));
    let (sums, gradients) = loss(inputs);
    let gradients = gradients.expect("gradients are computed whenever there is a scale");
    let mut surrogate = (features * Tensor::from_inner(gradients.features)).sum();
    if let (Some(trained), Some(gradient)) = (trained, gradients.weight) {
        surrogate = surrogate + (trained * Tensor::from_inner(gradient)).sum();
    }
    if let (Some(bias), Some(gradient)) = (bias, gradients.bias) {
        surrogate = surrogate + (bias * Tensor::from_inner(gradient)).sum();
    }
    (sums, surrogate)
}

fn loss(inputs: LossInputs) -> (LossSums, Option<LossGradients>) {
    if cpu::supports(&inputs.features) {
        cpu::loss(inputs)
    } else {
        tensors::loss(inputs)
    }
}
