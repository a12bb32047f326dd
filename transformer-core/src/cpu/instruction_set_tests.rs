//! Every kernel gives the same numbers with every instruction set, the scalar one included: the
//! order of sums is written down, and no product is fused with a sum.
//!
//! [`super::tests`] compares the same kernels with Burn's operations.

use transformer_kernels::{BLOCK, with_each_instruction_set};

use super::dropout::{apply, next_mask};
use super::tests::{EPSILON, SHAPES, backward, elements, gradient, test_device, tracked};
use super::*;
use crate::device;

/// Compares what `compute` returns with every instruction set; a NaN may have any sign.
fn assert_same(compute: impl Fn() -> Vec<f32>) {
    let (expected, others) = with_each_instruction_set(compute);
    for (arch, found) in others {
        assert_eq!(found.len(), expected.len());
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let is_same =
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(is_same, "{arch:?}, {index}: {found} {expected}");
        }
    }
}

#[test]
fn gradients_of_softmax_are_the_same() {
    for shape in SHAPES {
        let x = tracked(shape, 7).require_grad();
        if softmax(&x).is_some() {
            assert_same(|| {
                let probs = softmax(&x).expect("it was supported before");
                elements(gradient(&x, &backward(&probs)))
            });
        }
    }
}

#[test]
fn gradients_of_layer_normalization_are_the_same() {
    for shape in SHAPES {
        let x = tracked(shape, 7).require_grad();
        let [gamma, beta] = [3, 5].map(|factor| tracked([shape[2]], factor).require_grad());
        if layer_norm(&x, &gamma, &beta, EPSILON).is_some() {
            assert_same(|| {
                let normalized = layer_norm(&x, &gamma, &beta, EPSILON);
                let gradients = backward(&normalized.expect("it was supported before"));
                let of_x = elements(gradient(&x, &gradients));
                let of_vectors = [&gamma, &beta].map(|it| elements(gradient(it, &gradients)));
                [of_x, of_vectors.concat()].concat()
            });
        }
    }
}

#[test]
fn dropped_elements_and_their_gradients_are_the_same() {
    let n = 3 * BLOCK + 5;
    let x = tracked([n], 7).require_grad();
    if !device::is_cpu_memory(&test_device()) {
        return;
    }
    assert_same(|| {
        seed_dropout(&test_device(), 7);
        let dropped = apply(&x, next_mask(n, 0.3)).expect("it is in CPU memory");
        let gradients = backward(&dropped);
        [elements(dropped), elements(gradient(&x, &gradients))].concat()
    });
}

/// Rows with everything that a float can be, and widths that are no multiple of a vector.
fn rows() -> Vec<Vec<f32>> {
    let value = |index: usize| ((index * 37) % 1009) as f32 / 31.0 - 9.0;
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE / 2.0,
        -0.0,
        f32::MAX,
    ];
    let mut rows: Vec<Vec<f32>> = [1, 7, 31, 129, 1003]
        .map(|len| (0..len).map(value).collect())
        .into();
    for value in special {
        for index in [0, 5, 128, 1002] {
            let mut row = rows[4].clone();
            row[index] = value;
            rows.push(row);
        }
        rows.push(vec![value; 300]);
    }
    rows
}

#[test]
fn log_probabilities_are_the_same() {
    for row in rows() {
        assert_same(|| {
            let mut log_probs = row.clone();
            log_softmax(&mut log_probs, row.len());
            log_probs
        });
    }
}

#[test]
fn summaries_of_logits_find_the_same_tokens() {
    for row in rows() {
        assert_same(|| {
            let summary = summarize_logits(&row, row.len()).swap_remove(0);
            let of_log_probs = LogitSummary::of_log_probs(&row);
            let mut found = Vec::new();
            for k in [1, 4, 50] {
                for summary in [&summary, &of_log_probs] {
                    for (first, chunk) in summary.chunks_with_largest(&row, k) {
                        found.push(first as f32);
                        found.extend(chunk.iter().map(|logit| summary.log_prob(*logit)));
                    }
                }
            }
            found
        });
    }
}
