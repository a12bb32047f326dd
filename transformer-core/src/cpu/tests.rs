//! Steps of ours beside Burn's own, by parts.

use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData, activation, module};
use rayon::ThreadPoolBuilder;

use super::layer_norm::layer_norm_on_tape;
use super::linear::linear;
use super::softmax::softmax_on_tape;
use super::vector::BLOCK;
use super::*;
use crate::device;
use crate::model::Mask;
use crate::random::SplitMix64;

/// Of sums of four hundred numbers of single precision in another order, beside numbers of about 1.
const TOLERANCE: f32 = 2e-5;

const EPSILON: f64 = 1e-5;

/// Widths below, at and above that of a vector, and more rows than a block has.
const SHAPES: [[usize; 3]; 5] = [[2, 3, 1], [1, 4, 7], [2, 2, 16], [3, 1, 37], [5, 80, 48]];

fn plain_device() -> Device {
    let named = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(named.as_deref()).expect("tests have a backend");
    device
}

fn test_device() -> Device {
    plain_device().autodiff()
}

/// Numbers from −2 to 2 that no two factors make alike.
fn numbers_on<const D: usize>(shape: [usize; D], factor: usize, device: &Device) -> Tensor<D> {
    let number = |place: usize| ((place * factor) % 401) as f32 / 100.0 - 2.0;
    let numbers: Vec<f32> = (0..shape.iter().product()).map(number).collect();
    Tensor::from_data(TensorData::new(numbers, shape), device)
}

fn numbers<const D: usize>(shape: [usize; D], factor: usize) -> Tensor<D> {
    numbers_on(shape, factor, &test_device())
}

fn bits<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn assert_close<const D: usize>(found: Tensor<D>, expected: Tensor<D>) {
    assert_eq!(found.dims(), expected.dims());
    let (found, expected) = (bits(found), bits(expected));
    let close = |(a, b): (&f32, &f32)| (a - b).abs() < TOLERANCE * (1.0 + b.abs());
    let all_close = found.iter().zip(&expected).all(close);
    assert!(all_close, "{found:?} {expected:?}");
}

/// Returns the step of ours, which there is wherever numbers lie in the computer's memory.
fn ours<T>(step: Option<T>) -> Option<T> {
    assert_eq!(step.is_some(), device::is_in_memory(&test_device()));
    step
}

/// Returns the gradients of an output, each number of which weighs otherwise.
fn backward<const D: usize>(output: &Tensor<D>) -> Gradients {
    let n = output.shape().num_elements();
    let weight = |place: usize| ((place * 37) % 101) as f32 / 50.0 - 1.0;
    let weights = TensorData::new((0..n).map(weight).collect::<Vec<_>>(), output.shape());
    let weights = Tensor::<D>::from_data(weights, (&output.device(), output.dtype()));
    (output.clone() * weights).sum().backward()
}

fn gradient<const D: usize>(of: &Tensor<D>, gradients: &Gradients) -> Tensor<D> {
    of.grad(gradients).expect("it takes part in the output")
}

/// Compares two outputs, and returns their gradients. Burn forgets a tape that was walked back.
fn compared<const D: usize>(found: &Tensor<D>, expected: &Tensor<D>) -> [Gradients; 2] {
    assert_close(found.clone(), expected.clone());
    [found, expected].map(backward)
}

/// Compares what came back to a leaf.
fn assert_same<const D: usize>(leaf: &Tensor<D>, [found, expected]: &[Gradients; 2]) {
    assert_close(gradient(leaf, found), gradient(leaf, expected));
}

#[test]
fn a_softmax_has_burns_gradient() {
    for shape in SHAPES {
        let x = numbers(shape, 7).require_grad();
        let Some(found) = ours(softmax_on_tape(&x)) else {
            return;
        };
        let both = compared(&found, &activation::softmax(x.clone(), 2));
        assert_same(&x, &both);
    }
}

#[test]
fn a_normalization_has_burns_gradients() {
    for shape in SHAPES {
        let width = shape[2];
        let x = numbers(shape, 7).require_grad();
        let (gamma, beta) = (numbers([width], 3), numbers([width], 5));
        let (gamma, beta) = (gamma.require_grad(), beta.require_grad());
        let found = layer_norm_on_tape(&x, &gamma, &beta, EPSILON);
        let Some(found) = ours(found) else { return };
        let expected = module::layer_norm(x.clone(), gamma.clone(), Some(beta.clone()), EPSILON);
        let both = compared(&found, &expected);
        assert_same(&x, &both);
        assert_same(&gamma, &both);
        assert_same(&beta, &both);
    }
}

/// Keys that are seen; there is room for two more.
const N_KEYS: usize = 7;

/// Returns queries, keys and values of two rows of three heads, none of whose sizes are alike.
fn attended(len: usize, d_k: usize) -> (Tensor<3>, Tensor<4>, Tensor<4>) {
    let device = plain_device();
    let query = numbers_on([2, len, 3 * d_k], 7, &device);
    let keys = numbers_on([2, 3, N_KEYS + 2, d_k], 11, &device);
    let values = numbers_on([2, 3, N_KEYS + 2, d_k + 2], 13, &device);
    (query, keys, values)
}

/// Hides some keys, all of them from one query, and adds numbers, one of them lower than any score.
fn masks(len: usize) -> Vec<Option<Mask>> {
    let device = plain_device();
    let hides = |place: usize| place < N_KEYS || place.is_multiple_of(3);
    let hidden: Vec<bool> = (0..2 * len * N_KEYS).map(hides).collect();
    let hidden = TensorData::new(hidden, [2, 1, len, N_KEYS]);
    let hidden = Mask::hidden(Tensor::from_data(hidden, &device));
    let mut bias: Vec<f32> = (0..3 * N_KEYS).map(|place| place as f32 / 8.0).collect();
    bias[4] = -1e9;
    let bias = TensorData::new(bias, [1, 3, 1, N_KEYS]);
    let bias = Mask::additive(Tensor::from_data(bias, &device));
    let both = hidden.clone().and(bias.clone());
    vec![None, Some(hidden), Some(bias), Some(both)]
}

#[test]
fn the_attention_of_few_queries_is_that_of_the_formula() {
    for (len, d_k) in [(1, 1), (2, 5), (3, 16), (4, 37)] {
        for mask in masks(len) {
            let (query, keys, values) = attended(len, d_k);
            let found = attention(&query, [&keys, &values], N_KEYS, mask.as_ref(), true);
            let Some((found, weights)) = ours(found) else {
                return;
            };
            let seen = |tensor: Tensor<4>| tensor.narrow(2, 0, N_KEYS);
            let query = query.reshape([2, len, 3, d_k]).swap_dims(1, 2);
            let scores = query.matmul(seen(keys).transpose()) * (d_k as f64).powf(-0.5);
            let scores = match &mask {
                Some(mask) => mask.hide_scores(scores),
                None => scores,
            };
            let expected = activation::softmax(scores, 3);
            let expected = match &mask {
                Some(mask) => mask.hide_weights(expected),
                None => expected,
            };
            assert_close(weights.expect("they are wanted"), expected.clone());
            let heads = expected.matmul(seen(values)).swap_dims(1, 2);
            assert_close(found, heads.reshape([2, len, 3 * (d_k + 2)]));
        }
    }
}

/// The heads of 64 rows are more than one task, and keys that lie by queries are copied.
#[test]
fn the_attention_of_many_rows_is_that_of_each() {
    let device = plain_device();
    let query = numbers_on([64, 4, 3 * 16], 7, &device);
    let keys = numbers_on([64, N_KEYS, 3, 16], 11, &device).swap_dims(1, 2);
    let values = numbers_on([64, N_KEYS, 3, 16], 13, &device).swap_dims(1, 2);
    let Some((found, _)) = ours(attention(&query, [&keys, &values], N_KEYS, None, false)) else {
        return;
    };
    for row in 0..64 {
        let of_row = |tensor: &Tensor<4>| tensor.clone().narrow(0, row, 1);
        let (keys, values) = (of_row(&keys), of_row(&values));
        let query = query.clone().narrow(0, row, 1);
        let expected = attention(&query, [&keys, &values], N_KEYS, None, false);
        let (expected, _) = expected.expect("there was one for all rows");
        assert_eq!(bits(found.clone().narrow(0, row, 1)), bits(expected));
    }
}

#[test]
fn scores_that_overflow_are_told() {
    let (query, keys, values) = attended(2, 5);
    let query = query * 1e38;
    // A query of one sign, so that all products of one of the keys are of one, too.
    let keys = keys.abs() * -1e38;
    let hidden = TensorData::new(
        [vec![false; N_KEYS], vec![true; N_KEYS]].concat(),
        [1, 1, 2, N_KEYS],
    );
    let mask = Mask::hidden(Tensor::from_data(hidden, &plain_device()));
    let found = attention(&query.abs(), [&keys, &values], N_KEYS, Some(&mask), false);
    let Some((found, _)) = ours(found) else {
        return;
    };
    for row in 0..2 {
        let of_query = |place: usize| bits(found.clone().narrow(0, row, 1).narrow(1, place, 1));
        assert!(of_query(0).into_iter().all(f32::is_nan));
        assert!(of_query(1).into_iter().all(|number| number == 0.0));
    }
}

#[test]
fn a_score_that_is_no_number_is_told() {
    let (query, keys, values) = attended(1, 5);
    let keys = keys.slice_fill([1..2, 2..3, 3..4, 0..5], f32::NAN);
    let found = attention(&query, [&keys, &values], N_KEYS, None, false);
    let Some((found, weights)) = ours(found) else {
        return;
    };
    assert!(weights.is_none());
    let is_nan: Vec<bool> = bits(found).into_iter().map(f32::is_nan).collect();
    // The last of all heads sees it.
    let expected: Vec<bool> = (0..2 * 3 * 7).map(|place| place >= 5 * 7).collect();
    assert_eq!(is_nan, expected);
}

#[test]
fn many_queries_and_gradients_are_left_to_burn() {
    let (query, keys, values) = attended(17, 5);
    assert!(attention(&query, [&keys, &values], N_KEYS, None, false).is_none());
    let [keys, values] = [numbers([1, 1, 1, 4], 3), numbers([1, 1, 1, 4], 5)];
    assert!(attention(&numbers([1, 1, 4], 7), [&keys, &values], 1, None, false).is_none());
}

#[test]
fn a_layer_without_gradients_is_its_product() {
    let device = plain_device();
    let x = numbers_on([7, 20], 7, &device);
    let weight = numbers_on([20, 9], 11, &device);
    let bias = numbers_on([9], 3, &device);
    let expected = x.clone().matmul(weight.clone());
    let Some(found) = ours(linear(&x, &weight, None)) else {
        return;
    };
    assert_close(found, expected.clone());
    let found = linear(&x, &weight, Some(&bias)).expect("there was one without a bias");
    assert_close(found, expected.clone() + bias.unsqueeze());
    let found = linear_by_rows(&x, &weight.transpose()).expect("there was one by columns");
    assert_close(found, expected);
}

#[test]
fn layers_have_burns_gradients() {
    let x = numbers([7, 20], 7).require_grad();
    let weight = numbers([20, 9], 11).require_grad();
    let bias = numbers([9], 3).require_grad();
    let product = || x.clone().matmul(weight.clone());
    let Some(found) = ours(linear(&x, &weight, None)) else {
        return;
    };
    let both = compared(&found, &product());
    assert_same(&x, &both);
    assert_same(&weight, &both);
    let found = linear(&x, &weight, Some(&bias)).expect("there was one without a bias");
    let both = compared(&found, &(product() + bias.clone().unsqueeze()));
    assert_same(&x, &both);
    assert_same(&weight, &both);
    assert_same(&bias, &both);
}

#[test]
fn rows_that_lie_elsewhere_have_the_same_gradient() {
    let x = numbers([6, 5, 20], 7).require_grad();
    let columns = || x.clone().swap_dims(0, 2); // [20, 5, 6]
    let Some(found) = ours(softmax_on_tape(&columns())) else {
        return;
    };
    let expected = activation::softmax(columns(), 2);
    // So do the rows of the gradients.
    let both = compared(&found.swap_dims(0, 1), &expected.swap_dims(0, 1));
    assert_same(&x, &both);

    let vectors = || (numbers([6], 3), numbers([6], 5));
    let (gamma, beta) = vectors();
    let expected = module::layer_norm(columns(), gamma.clone(), Some(beta.clone()), EPSILON);
    let both = compared(&layer_norm(columns(), gamma, beta, EPSILON), &expected);
    assert_same(&x, &both);

    let rows = || {
        let one = x.clone().slice([1..2, 0..5, 0..20]);
        one.reshape([5, 20]).transpose() // [20, 5]
    };
    let weight = numbers([4, 5], 11).require_grad();
    let found = linear(&rows(), &weight.clone().transpose(), None);
    let found = found.expect("it lies in the computer's memory");
    let both = compared(&found, &rows().matmul(weight.clone().transpose()));
    assert_same(&x, &both);
    assert_same(&weight, &both);
}

#[test]
fn what_is_taken_twice_has_the_sum_of_both_gradients() {
    let x = numbers([2, 3, 8], 7).require_grad();
    let Some(once) = ours(softmax_on_tape(&x)) else {
        return;
    };
    let twice = once.clone() * once + softmax(x.clone());
    let of_burn = activation::softmax(x.clone(), 2);
    let expected = of_burn.clone() * of_burn.clone() + of_burn;
    assert_same(&x, &compared(&twice, &expected));
    // A sum's gradient is one number, seen from every place.
    let found = (softmax(x.clone()) * x.clone()).sum();
    let expected = (activation::softmax(x.clone(), 2) * x.clone()).sum();
    assert_same(&x, &compared(&found, &expected));
}

#[test]
fn what_is_frozen_has_no_gradient() {
    let (x, gamma, beta) = (numbers([2, 3, 8], 7), numbers([8], 3), numbers([8], 5));
    let beta = beta.require_grad();
    let gradients = backward(&layer_norm(x.clone(), gamma.clone(), beta.clone(), EPSILON));
    assert!(x.grad(&gradients).is_none() && gamma.grad(&gradients).is_none());
    assert!(beta.grad(&gradients).is_some());
}

/// Asserts that a softmax of these rows is Burn's, and has its gradient.
fn assert_left_to_burn(x: &Tensor<2>) {
    assert!(softmax_on_tape(x).is_none());
    let expected = activation::softmax(x.clone(), 1);
    assert_same(x, &compared(&softmax(x.clone()), &expected));
}

#[test]
fn a_tape_that_computes_again_what_it_did_not_keep_is_burns() {
    let device = test_device().gradient_checkpointing();
    let x = Tensor::<2>::from_floats([[0.5, -1.0, 2.0]], &device).require_grad();
    assert_left_to_burn(&x);
}

#[test]
fn another_precision_is_burns() {
    // Not every backend has it.
    let (_, flex) = device::choose(Some("flex")).expect("tests have the default backend");
    let x = Tensor::<2>::from_floats([[0.5, -1.0, 2.0]], &flex.autodiff());
    let x = x.cast(FloatDType::F64).require_grad();
    assert_left_to_burn(&x);
}

#[test]
fn what_is_dropped_has_no_gradient() {
    let n = 3 * BLOCK + 5;
    let mask = DropoutMask::new(7, 0.3);
    let factors = Tensor::<1>::from_floats(&mask.factors(n)[..], &test_device());
    let x = numbers([n], 7).require_grad();
    let Some(found) = ours(dropout(&x, mask)) else {
        return;
    };
    assert_same(&x, &compared(&found, &(x.clone() * factors)));
}

/// The generator's first draws from 0, by the reference code of Sebastiano Vigna
/// (<https://prng.di.unimi.it/splitmix64.c>).
#[test]
fn the_generator_is_splitmix64() {
    let draws = [16_294_208_416_658_607_535_u64, 7_960_286_522_194_355_700];
    let bits = draws
        .iter()
        .flat_map(|draw| (0..4).map(move |number| (draw >> (16 * number)) as u16));
    let expected: Vec<f32> = bits
        .map(|bits| if bits < 1 << 15 { 0.0 } else { 2.0 })
        .collect();
    assert_eq!(DropoutMask::new(0, 0.5).factors(8), expected);
}

/// A generator that is asked for its draws one after the other, as it was before it was asked by blocks.
#[test]
fn blocks_go_on_where_the_one_before_ended() {
    let (state, n, probability) = (u64::MAX - 5, 2 * BLOCK + 6, 0.1);
    let mask = DropoutMask::new(state, probability);
    let mut generator = SplitMix64::from_state(state);
    let mut expected = Vec::new();
    while expected.len() < n {
        let bits = generator.next_u64();
        let kept = (1.0 - probability).recip() as f32;
        let four = [bits, bits >> 16, bits >> 32, bits >> 48];
        expected.extend(four.map(|bits| if bits & 0xffff < 6554 { 0.0 } else { kept }));
    }
    expected.truncate(n);
    assert_eq!(mask.factors(n), expected);
    assert_eq!(mask.state_after(n), generator.state());
}

#[test]
fn all_is_dropped_whose_probability_is_nearly_one() {
    let factors = DropoutMask::new(3, 1.0 - 1e-9).factors(1 << 18);
    assert!(factors.iter().all(|&factor| factor == 0.0));
}

#[test]
fn any_number_of_threads_makes_the_same_bits() {
    let x = numbers([40, 30, 64], 7).require_grad();
    let (gamma, beta) = (numbers([64], 3).require_grad(), numbers([64], 5));
    let made = |n_threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(n_threads).build();
        pool.expect("threads can be started").install(|| {
            let output = layer_norm(x.clone(), gamma.clone(), beta.clone(), EPSILON);
            let gradients = backward(&softmax(output));
            (
                bits(gradient(&x, &gradients)),
                bits(gradient(&gamma, &gradients)),
            )
        })
    };
    if device::is_in_memory(&test_device()) {
        assert_eq!(made(1), made(3));
    }
}
