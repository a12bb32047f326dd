//! What the model asks of a backend, beside sums made by hand: masks, broadcasting, integers, repeated rows.
//!
//! A backend that fails here is wrong wherever the model runs on it, and the test says in which operation.

use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData, activation};
use transformer_core::device::Backend;

use crate::model::{test_backend, test_device};

/// `[batch, n_heads, queries, keys]`, unequal so that axes taken for one another are found.
const SCORES: [usize; 4] = [2, 3, 5, 4];

/// Returns for every place of [`SCORES`] its coordinates in a tensor whose axes are these or 1.
fn broadcast_places(shape: [usize; 4]) -> Vec<[usize; 4]> {
    let [n_batch, n_heads, n_queries, n_keys] = SCORES;
    let mut places = Vec::new();
    for batch in 0..n_batch {
        for head in 0..n_heads {
            for query in 0..n_queries {
                for key in 0..n_keys {
                    let place = [batch, head, query, key];
                    places.push(std::array::from_fn(|axis| place[axis].min(shape[axis] - 1)));
                }
            }
        }
    }
    places
}

/// Numbers a place of a tensor of this shape, row by row.
fn index(shape: [usize; 4], place: [usize; 4]) -> usize {
    (0..4).fold(0, |index, axis| index * shape[axis] + place[axis])
}

/// Every shape whose axes are those of [`SCORES`] or 1.
fn broadcast_shapes() -> impl Iterator<Item = [usize; 4]> {
    (0..16_usize).map(|ones| {
        std::array::from_fn(|axis| {
            if (ones >> axis) & 1 == 1 {
                1
            } else {
                SCORES[axis]
            }
        })
    })
}

fn floats<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn ids(values: &[i64], device: &Device) -> Tensor<1, Int> {
    let data = TensorData::new(values.to_vec(), [values.len()]);
    Tensor::from_data(data, device)
}

fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn read_ids<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().iter::<i64>().collect()
}

#[test]
fn a_mask_is_spread_over_every_axis_in_which_it_is_one() {
    let device = test_device();
    let n_scores = SCORES.iter().product::<usize>();
    let scores: Vec<f32> = (0..n_scores).map(|score| score as f32).collect();
    for shape in broadcast_shapes() {
        let n = shape.iter().product::<usize>();
        let is_hidden: Vec<bool> = (0..n).map(|place| place % 3 == 1 || n == 1).collect();
        let expected = broadcast_places(shape).into_iter().zip(&scores);
        let expected = expected.map(|(place, &score)| {
            if is_hidden[index(shape, place)] {
                -1e9
            } else {
                score
            }
        });
        let expected: Vec<f32> = expected.collect();
        let mask = Tensor::<4, Bool>::from_data(TensorData::new(is_hidden, shape), &device);
        let filled = floats(scores.clone(), SCORES, &device).mask_fill(mask, -1e9);
        assert_eq!(read(filled), expected, "a mask of {shape:?}");
    }
}

#[test]
fn a_bias_is_spread_over_every_axis_in_which_it_is_one() {
    let device = test_device();
    let n_scores = SCORES.iter().product::<usize>();
    let scores: Vec<f32> = (0..n_scores).map(|score| score as f32).collect();
    for shape in broadcast_shapes() {
        let n = shape.iter().product::<usize>();
        // Whole numbers far below 2²⁴: sums are exact.
        let bias: Vec<f32> = (0..n).map(|place| 1000.0 * place as f32).collect();
        let places = broadcast_places(shape).into_iter().zip(&scores);
        let expected: Vec<f32> = places
            .map(|(place, score)| score + bias[index(shape, place)])
            .collect();
        let sum = floats(scores.clone(), SCORES, &device) + floats(bias, shape, &device);
        assert_eq!(read(sum), expected, "a bias of {shape:?}");
    }
}

#[test]
fn two_masks_are_joined_over_axes_in_which_either_is_one() {
    let device = test_device();
    let mask = |values: &[bool], shape: [usize; 2]| {
        Tensor::<2, Bool>::from_data(TensorData::new(values.to_vec(), shape), &device)
    };
    let padding = mask(&[false, false, true], [1, 3]);
    let causal = mask(&[false, true, true, false, false, true], [2, 3]);
    let joined = padding.expand([2, 3]).bool_or(causal);
    let joined: Vec<bool> = joined.into_data().iter::<bool>().collect();
    assert_eq!(joined, [false, true, true, false, false, true]);
}

#[test]
fn ids_beyond_sixteen_bits_name_their_own_rows() {
    let device = test_device();
    let n_rows = 70_000;
    let table: Vec<f32> = (0..n_rows).map(|row| row as f32).collect();
    let table = floats(table, [n_rows, 1], &device);
    let wanted = [69_999, 0, 65_536, 65_535, 32_768];
    let rows = table.select(0, ids(&wanted, &device));
    assert_eq!(read(rows), wanted.map(|row| row as f32));
}

#[test]
fn integers_are_exact_where_single_precision_is_not() {
    let device = test_device();
    let large = (1 << 24) + 1;
    let sum = ids(&[large, -7], &device) + ids(&[2, 5], &device);
    assert_eq!(read_ids(sum), [large + 2, -2]);
}

#[test]
fn the_largest_of_a_row_is_found_in_every_row() {
    let device = test_device();
    let rows = floats(vec![0.5, -1.0, 2.5, 9.0, 3.0, -4.0], [2, 3], &device);
    assert_eq!(read_ids(rows.argmax(1)), [2, 0]);
}

#[test]
fn a_value_is_gathered_from_every_row_by_its_own_id() {
    let device = test_device();
    let rows = floats(vec![0.5, -1.0, 2.5, 9.0, 3.0, -4.0], [2, 3], &device);
    let labels = ids(&[1, 2], &device).reshape([2, 1]);
    assert_eq!(read(rows.gather(1, labels)), [-1.0, -4.0]);
}

/// The gradient of an embedding: rows that come several times have the sum.
#[test]
fn a_row_that_is_taken_three_times_has_three_times_the_gradient() {
    let device = test_device().autodiff();
    let table = Tensor::<2>::ones([4, 2], &device).require_grad();
    let rows = table.clone().select(0, ids(&[2, 0, 2, 2], &device));
    let gradients = rows.sum().backward();
    let gradient = table
        .grad(&gradients)
        .expect("the table has a part in the sum");
    assert_eq!(read(gradient), [1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0]);
}

/// `model::attention` multiplies, masks and normalizes in steps, because Burn's fused attention is not right
/// everywhere. libtorch's takes `true` in a mask for "look at it", and burn-tch 0.22.1 hands it Burn's, where
/// `true` is "hide it":
/// <https://github.com/tracel-ai/burn/blob/907ab111a02c2dea47bc41633754f095c6b2220e/crates/burn-tch/src/ops/module.rs#L488-L511>.
/// On CubeCL in half precision it hides in the first head only (<https://github.com/tracel-ai/burn/issues/4778>).
/// Where this test fails on tch, that fault is gone.
#[test]
fn burns_fused_attention_hides_what_is_to_be_hidden_but_on_libtorch() {
    let device = test_device();
    // Two heads, and two keys that both score 0: the mean of their values, 1 and 5, unless one is hidden.
    let queries = Tensor::<4>::zeros([1, 2, 1, 8], &device);
    let keys = Tensor::<4>::ones([1, 2, 2, 8], &device);
    let value = |of: f32| Tensor::<4>::full([1, 2, 1, 8], of, &device);
    let values = Tensor::cat(vec![value(1.0), value(5.0)], 2);
    let second = TensorData::new(vec![false, true], [1, 1, 1, 2]);
    let mask = Tensor::<4, Bool>::from_data(second, &device).expand([1, 2, 1, 2]);
    let options = AttentionModuleOptions::default();
    let seen = read(attention(queries, keys, values, Some(mask), None, options));
    let is_inverted = test_backend() == Backend::Tch;
    let expected = if is_inverted { 5.0 } else { 1.0 };
    assert!(seen.iter().all(|x| (x - expected).abs() < 1e-6), "{seen:?}");
}

/// `model::feed_forward` writes GELU out, because Burn's has the derivative of another function where the backend
/// brings none of its own: of the approximation by tanh. Where this test fails, that fault is gone.
#[test]
fn burns_gelu_has_its_own_derivative_only_on_flex_and_libtorch() {
    let device = test_device().autodiff();
    let x = floats(vec![2.0], [1], &device).require_grad();
    let gradients = activation::gelu(x.clone()).backward();
    let slope = read(x.grad(&gradients).expect("it is what was derived by"))[0];
    // Φ(2) + 2·φ(2), and what the approximation has there, 9e-4 away.
    let (exact, approximate) = (1.085_232, 1.086_099);
    let is_exact = [Backend::Flex, Backend::Tch].contains(&test_backend());
    let expected = if is_exact { exact } else { approximate };
    assert!((slope - expected).abs() < 4e-4, "{slope}");
}
