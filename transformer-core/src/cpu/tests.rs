//! Compares the kernels with Burn's operations.

use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData, activation, module};
use rayon::ThreadPoolBuilder;
use transformer_kernels::BLOCK;

use super::dropout::{apply, next_mask};
use super::*;
use crate::device;

/// For sums of 400 `f32` in another order, relative to values of about 1.
const TOLERANCE: f32 = 2e-5;

pub(super) const EPSILON: f64 = 1e-5;

/// Widths below, at and above [`LANES_OF_SUM`](super::vector), and more rows than a block.
pub(super) const SHAPES: [[usize; 3]; 5] =
    [[2, 3, 1], [1, 4, 7], [2, 2, 16], [3, 1, 37], [5, 80, 48]];

pub(super) fn plain_device() -> Device {
    let requested = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
    device
}

pub(super) fn test_device() -> Device {
    plain_device().autodiff()
}

/// Values from −2 to 2, different ones for each factor.
pub(super) fn values_on<const D: usize>(
    shape: [usize; D],
    factor: usize,
    device: &Device,
) -> Tensor<D> {
    let value = |index: usize| ((index * factor) % 401) as f32 / 100.0 - 2.0;
    let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

pub(super) fn tracked<const D: usize>(shape: [usize; D], factor: usize) -> Tensor<D> {
    values_on(shape, factor, &test_device())
}

pub(super) fn elements<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn assert_close<const D: usize>(found: Tensor<D>, expected: Tensor<D>) {
    assert_eq!(found.dims(), expected.dims());
    let (found, expected) = (elements(found), elements(expected));
    let close = |(a, b): (&f32, &f32)| (a - b).abs() < TOLERANCE * (1.0 + b.abs());
    let all_close = found.iter().zip(&expected).all(close);
    assert!(all_close, "{found:?} {expected:?}");
}

/// Returns the result of a kernel, and checks that it is `Some` exactly in CPU memory.
fn on_cpu<T>(result: Option<T>) -> Option<T> {
    assert_eq!(result.is_some(), device::is_cpu_memory(&test_device()));
    result
}

/// Returns the gradients of a weighted sum of the output, with different weights.
pub(super) fn backward<const D: usize>(output: &Tensor<D>) -> Gradients {
    let n = output.shape().num_elements();
    let weight = |index: usize| ((index * 37) % 101) as f32 / 50.0 - 1.0;
    let weights = TensorData::new((0..n).map(weight).collect::<Vec<_>>(), output.shape());
    let weights = Tensor::<D>::from_data(weights, (&output.device(), output.dtype()));
    (output.clone() * weights).sum().backward()
}

pub(super) fn gradient<const D: usize>(of: &Tensor<D>, gradients: &Gradients) -> Tensor<D> {
    of.grad(gradients).expect("the output depends on it")
}

/// Compares two outputs, and returns their gradients. Burn drops a graph after its backward pass.
fn compare<const D: usize>(found: &Tensor<D>, expected: &Tensor<D>) -> [Gradients; 2] {
    assert_close(found.clone(), expected.clone());
    [found, expected].map(backward)
}

/// Compares the gradients of a leaf.
fn assert_same_gradient<const D: usize>(leaf: &Tensor<D>, [found, expected]: &[Gradients; 2]) {
    assert_close(gradient(leaf, found), gradient(leaf, expected));
}

#[test]
fn softmax_has_burns_gradient() {
    for shape in SHAPES {
        let x = tracked(shape, 7).require_grad();
        let Some(found) = on_cpu(softmax(&x)) else {
            return;
        };
        let both = compare(&found, &activation::softmax(x.clone(), 2));
        assert_same_gradient(&x, &both);
    }
}

#[test]
fn layer_norm_has_burns_gradients() {
    for shape in SHAPES {
        let width = shape[2];
        let x = tracked(shape, 7).require_grad();
        let (gamma, beta) = (tracked([width], 3), tracked([width], 5));
        let (gamma, beta) = (gamma.require_grad(), beta.require_grad());
        let found = layer_norm(&x, &gamma, &beta, EPSILON);
        let Some(found) = on_cpu(found) else { return };
        let expected = module::layer_norm(x.clone(), gamma.clone(), Some(beta.clone()), EPSILON);
        let both = compare(&found, &expected);
        assert_same_gradient(&x, &both);
        assert_same_gradient(&gamma, &both);
        assert_same_gradient(&beta, &both);
    }
}

/// Layer normalization by the kernel, or by Burn where there is none.
fn normalized(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>) -> Tensor<3> {
    layer_norm(&x, &gamma, &beta, EPSILON)
        .unwrap_or_else(|| module::layer_norm(x, gamma, Some(beta), EPSILON))
}

#[test]
fn linear_without_autodiff_equals_its_formula() {
    let device = plain_device();
    let x = values_on([7, 20], 7, &device);
    let weight = values_on([20, 9], 11, &device);
    let bias = values_on([9], 3, &device);
    let expected = x.clone().matmul(weight.clone());
    let Some(found) = on_cpu(linear(&x, &weight, None, gemm::multiply)) else {
        return;
    };
    assert_close(found, expected.clone());
    let found =
        linear(&x, &weight, Some(&bias), gemm::multiply).expect("it is supported without a bias");
    assert_close(found, expected.clone() + bias.unsqueeze());
    let found = linear_transposed(&x, &weight.transpose());
    let found = found.expect("`linear` is supported");
    assert_close(found, expected);
}

#[test]
fn linear_has_burns_gradients() {
    let x = tracked([7, 20], 7).require_grad();
    let weight = tracked([20, 9], 11).require_grad();
    let bias = tracked([9], 3).require_grad();
    let product = || x.clone().matmul(weight.clone());
    let Some(found) = on_cpu(linear(&x, &weight, None, gemm::multiply)) else {
        return;
    };
    let both = compare(&found, &product());
    assert_same_gradient(&x, &both);
    assert_same_gradient(&weight, &both);
    let found =
        linear(&x, &weight, Some(&bias), gemm::multiply).expect("it is supported without a bias");
    let both = compare(&found, &(product() + bias.clone().unsqueeze()));
    assert_same_gradient(&x, &both);
    assert_same_gradient(&weight, &both);
    assert_same_gradient(&bias, &both);
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test prints its reason")]
fn linear_in_bfloat16_has_the_gradients_of_rounded_factors() {
    let [x, weight] = [tracked([37, 50], 7), tracked([50, 29], 11)].map(Tensor::require_grad);
    if !bf16::is_available() || !device::is_rust_cpu(&x.device()) {
        eprintln!("skipped: no flex here, or no AMX for bfloat16");
        return;
    }
    let bias = tracked([29], 3).require_grad();
    let found = linear(&x, &weight, Some(&bias), bf16::multiply).expect("it is in CPU memory");
    let gradients = backward(&found);
    let rounded = |x: &Tensor<2>| {
        let values = elements(x.clone()).into_iter();
        let values: Vec<f32> = values.map(|it| half::bf16::from_f32(it).to_f32()).collect();
        Tensor::<2>::from_data(TensorData::new(values, x.dims()), &plain_device())
    };
    let weights = (0..37 * 29).map(|index| ((index * 37) % 101) as f32 / 50.0 - 1.0);
    let weights = TensorData::new(weights.collect::<Vec<_>>(), [37, 29]);
    let d_output = Tensor::<2>::from_data(weights, &plain_device());
    let (x_rounded, weight_rounded, d_rounded) =
        (rounded(&x), rounded(&weight), rounded(&d_output));
    let output = x_rounded.clone().matmul(weight_rounded.clone());
    let bias_rows = bias.clone().without_autodiff().unsqueeze();
    assert_close(found, output + bias_rows);
    let d_x = d_rounded.clone().matmul(weight_rounded.transpose());
    assert_close(gradient(&x, &gradients), d_x);
    let d_weight = x_rounded.transpose().matmul(d_rounded);
    assert_close(gradient(&weight, &gradients), d_weight);
    let d_bias = d_output.sum_dim(0).squeeze_dim(0);
    assert_close(gradient(&bias, &gradients), d_bias);
}

#[test]
fn tensors_that_are_not_contiguous_have_burns_gradients() {
    let x = tracked([6, 5, 20], 7).require_grad();
    let columns = || x.clone().swap_dims(0, 2); // [20, 5, 6]
    let Some(found) = on_cpu(softmax(&columns())) else {
        return;
    };
    let expected = activation::softmax(columns(), 2);
    // Nor are the gradients of the output contiguous.
    let both = compare(&found.swap_dims(0, 1), &expected.swap_dims(0, 1));
    assert_same_gradient(&x, &both);

    let vectors = || (tracked([6], 3), tracked([6], 5));
    let (gamma, beta) = vectors();
    let expected = module::layer_norm(columns(), gamma.clone(), Some(beta.clone()), EPSILON);
    let both = compare(&normalized(columns(), gamma, beta), &expected);
    assert_same_gradient(&x, &both);

    let rows = || {
        let one = x.clone().slice([1..2, 0..5, 0..20]);
        one.reshape([5, 20]).transpose() // [20, 5]
    };
    let weight = tracked([4, 5], 11).require_grad();
    let found = linear(&rows(), &weight.clone().transpose(), None, gemm::multiply);
    let found = found.expect("it is in CPU memory");
    let both = compare(&found, &rows().matmul(weight.clone().transpose()));
    assert_same_gradient(&x, &both);
    assert_same_gradient(&weight, &both);
}

#[test]
fn a_tensor_that_is_used_twice_has_the_sum_of_both_gradients() {
    let x = tracked([2, 3, 8], 7).require_grad();
    let Some(once) = on_cpu(softmax(&x)) else {
        return;
    };
    let again = softmax(&x).expect("it was supported before");
    let twice = once.clone() * once + again;
    let of_burn = activation::softmax(x.clone(), 2);
    let expected = of_burn.clone() * of_burn.clone() + of_burn;
    assert_same_gradient(&x, &compare(&twice, &expected));
    // The gradient of a sum is one element, broadcast.
    let again = softmax(&x).expect("it was supported before");
    let found = (again * x.clone()).sum();
    let expected = (activation::softmax(x.clone(), 2) * x.clone()).sum();
    assert_same_gradient(&x, &compare(&found, &expected));
}

#[test]
fn a_frozen_parameter_has_no_gradient() {
    let (x, gamma, beta) = (tracked([2, 3, 8], 7), tracked([8], 3), tracked([8], 5));
    let beta = beta.require_grad();
    let gradients = backward(&normalized(x.clone(), gamma.clone(), beta.clone()));
    assert!(x.grad(&gradients).is_none() && gamma.grad(&gradients).is_none());
    assert!(beta.grad(&gradients).is_some());
}

#[test]
fn gradient_checkpointing_falls_back_to_burn() {
    let device = test_device().gradient_checkpointing();
    let x = Tensor::<2>::from_floats([[0.5, -1.0, 2.0]], &device).require_grad();
    assert!(softmax(&x).is_none());
}

#[test]
fn another_element_type_falls_back_to_burn() {
    // Not every backend has f64.
    let (_, flex) = device::choose(Some("flex")).expect("tests have the default backend");
    let x = Tensor::<2>::from_floats([[0.5, -1.0, 2.0]], &flex.autodiff());
    let x = x.cast(FloatDType::F64).require_grad();
    assert!(softmax(&x).is_none());
}

#[test]
fn dropped_elements_have_no_gradient() {
    let n = 3 * BLOCK + 5;
    seed_dropout(&test_device(), 7);
    let mask = next_mask(n, 0.3);
    let factors = Tensor::<1>::from_floats(&mask.factors(n)[..], &test_device());
    let x = tracked([n], 7).require_grad();
    let Some(found) = on_cpu(apply(&x, mask)) else {
        return;
    };
    assert_same_gradient(&x, &compare(&found, &(x.clone() * factors)));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let x = tracked([40, 30, 64], 7).require_grad();
    let (gamma, beta) = (tracked([64], 3).require_grad(), tracked([64], 5));
    let gradients_by = |n_threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(n_threads).build();
        pool.expect("threads can be started").install(|| {
            let normalized = normalized(x.clone(), gamma.clone(), beta.clone());
            let probs = softmax(&normalized).expect("it is in CPU memory");
            let gradients = backward(&probs);
            (
                elements(gradient(&x, &gradients)),
                elements(gradient(&gamma, &gradients)),
            )
        })
    };
    if device::is_cpu_memory(&test_device()) {
        assert_eq!(gradients_by(1), gradients_by(3));
    }
}
