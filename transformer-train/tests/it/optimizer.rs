//! Adam, gradient clipping and label smoothing compared with PyTorch and fairseq.
//!
//! `tests/fixtures/generate_optimizer.py` computed the expected values in double precision.

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Deserialize;
use transformer_train::config::SmoothingForm;
use transformer_train::optim::{Adam, clip_by_global_norm, global_norm};
use transformer_train::step::{LabelSmoothing, Projection, projected_loss_with_gradient};

use crate::workplace::test_device;

#[derive(Deserialize)]
struct Goldens {
    start: Pair,
    learning_rates: Vec<f64>,
    gradients: Vec<Pair>,
    adam: Vec<Pair>,
    weight_decay: f64,
    adam_with_decay: Vec<Pair>,
    clipped: Clipping,
    not_clipped: Clipping,
    smoothing: Smoothing,
}

/// A matrix `[2, 3]`, in row-major order, and a vector `[3]`.
#[derive(Deserialize)]
struct Pair {
    matrix: Vec<f32>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Clipping {
    max_norm: f64,
    norm: f64,
    matrix: Vec<f32>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Smoothing {
    epsilon: f64,
    labels: Vec<i64>,
    features: Vec<f32>,
    weight: Vec<f32>,
    nll: f64,
    pytorch: Smoothed,
    fairseq: Smoothed,
}

#[derive(Deserialize)]
struct Smoothed {
    loss: f64,
    features_gradient: Vec<f32>,
    weight_gradient: Vec<f32>,
}

fn goldens() -> Goldens {
    let text = include_str!("../fixtures/optimizer.json");
    serde_json::from_str(text).expect("the fixture has the fields that its generator writes")
}

fn matrix<const ROWS: usize>(values: &[f32], device: &Device) -> Tensor<2> {
    let columns = values.len() / ROWS;
    Tensor::from_data(TensorData::new(values.to_vec(), [ROWS, columns]), device)
}

fn vector(values: &[f32], device: &Device) -> Tensor<1> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device)
}

fn layer(start: &Pair, device: &Device) -> Linear {
    let mut layer = LinearConfig::new(2, 3).init(device);
    layer.weight = Param::from_tensor(matrix::<2>(&start.matrix, device));
    layer.bias = Some(Param::from_tensor(vector(&start.vector, device)));
    layer
}

fn gradients(layer: &Linear, pair: &Pair, device: &Device) -> GradientsParams {
    let mut gradients = GradientsParams::new();
    gradients.register(layer.weight.id, matrix::<2>(&pair.matrix, device));
    let bias = layer.bias.as_ref().expect("the layer has a bias");
    gradients.register(bias.id, vector(&pair.vector, device));
    gradients
}

fn assert_close<const D: usize>(found: Tensor<D>, expected: &[f32], tolerance: f32) {
    let found: Vec<f32> = found.into_data().iter::<f32>().collect();
    assert_eq!(found.len(), expected.len());
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let largest = differences.fold(0.0, f32::max);
    assert!(largest <= tolerance, "{largest}: {found:?} {expected:?}");
}

/// Checks twenty steps of Adam.
///
/// The tolerance, 2e-6, covers one rounding per step of at most 0.01 to weights of size one, and
/// `1 − β₂`, whose relative error in single precision is 1e-6.
fn assert_steps(weight_decay: f64, expected: &[Pair]) {
    let goldens = goldens();
    let device = test_device();
    let adam = Adam {
        weight_decay,
        ..Adam::default()
    };
    let mut optimizer = ModuleOptimizer::from(adam);
    // As in training, parameters require gradients.
    let mut layer = layer(&goldens.start, &device.clone().autodiff());
    let steps = goldens.gradients.iter().zip(&goldens.learning_rates);
    assert_eq!(expected.len(), 20);
    for ((pair, &learning_rate), expected) in steps.zip(expected) {
        let gradients = gradients(&layer, pair, &device);
        layer = optimizer.step(learning_rate, layer, gradients);
        assert_close(layer.weight.val().inner(), &expected.matrix, 2e-6);
        let bias = layer.bias.as_ref().expect("the layer has a bias");
        assert_close(bias.val().inner(), &expected.vector, 2e-6);
    }
}

#[test]
fn adam_takes_the_steps_of_pytorch() {
    assert_steps(0.0, &goldens().adam);
}

#[test]
fn weight_decay_is_that_of_adamw_on_matrices_and_absent_on_vectors() {
    let goldens = goldens();
    let difference = goldens.adam[19].matrix[0] - goldens.adam_with_decay[19].matrix[0];
    assert!(
        difference.abs() > 1e-3,
        "weight decay has a visible effect: {difference}"
    );
    assert_steps(goldens.weight_decay, &goldens.adam_with_decay);
}

fn assert_clipped(expected: &Clipping) {
    let goldens = goldens();
    let device = test_device();
    let layer = layer(&goldens.start, &device);
    let gradients = gradients(&layer, &goldens.gradients[5], &device);
    let norm = global_norm(&layer, &gradients).expect("there are gradients");
    let found: f64 = norm.clone().into_scalar();
    assert!((found - expected.norm).abs() < 1e-5, "{found}");
    let clipped = clip_by_global_norm(&layer, gradients, norm, expected.max_norm);
    let matrix = clipped
        .get::<2>(layer.weight.id)
        .expect("the gradient is registered");
    assert_close(matrix, &expected.matrix, 1e-6);
    let bias = layer.bias.as_ref().expect("the layer has a bias");
    let vector = clipped
        .get::<1>(bias.id)
        .expect("the gradient is registered");
    assert_close(vector, &expected.vector, 1e-6);
}

#[test]
fn clipped_gradients_are_those_of_pytorch() {
    assert_clipped(&goldens().clipped);
}

#[test]
fn gradients_below_the_norm_are_unchanged_as_in_pytorch() {
    assert_clipped(&goldens().not_clipped);
}

fn assert_smoothed(form: SmoothingForm, expected: &Smoothed) {
    let smoothing = goldens().smoothing;
    let device = test_device().autodiff();
    let features = matrix::<5>(&smoothing.features, &device).require_grad();
    let weight = matrix::<7>(&smoothing.weight, &device).require_grad();
    let n_labels = smoothing.labels.len();
    let labels = TensorData::new(smoothing.labels, [n_labels]);
    let (sums, surrogate) = projected_loss_with_gradient(
        features.clone(),
        Projection::new(weight.clone(), None),
        Tensor::<1, Int>::from_data(labels, &device.inner()),
        &LabelSmoothing {
            epsilon: smoothing.epsilon,
            form,
        },
        1.0,
    );
    // Sums of five losses of about three nats, in single precision.
    let loss: f64 = sums.smoothed.into_scalar();
    assert!((loss - expected.loss).abs() < 1e-5, "{loss}");
    let nll: f64 = sums.nll.into_scalar();
    assert!((nll - smoothing.nll).abs() < 1e-5, "{nll}");
    let gradients = surrogate.backward();
    let gradient = |tensor: Tensor<2>| tensor.grad(&gradients).expect("the loss depends on it");
    assert_close(gradient(features), &expected.features_gradient, 5e-6);
    assert_close(gradient(weight), &expected.weight_gradient, 5e-6);
}

#[test]
fn smoothing_over_all_tokens_is_that_of_pytorch() {
    assert_smoothed(SmoothingForm::AllTokens, &goldens().smoothing.pytorch);
}

#[test]
fn smoothing_over_other_tokens_is_that_of_fairseq() {
    assert_smoothed(SmoothingForm::OtherTokens, &goldens().smoothing.fairseq);
}
