//! Training with matrix products in 16 bits.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the reason"
)]

use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::DType;
use transformer_core::model::MatmulPrecision;
use transformer_core::{Padded, Transformer, TransformerConfig};
use transformer_train::optim::Adam;

use crate::resume::assert_same;
use crate::weights::random_model;
use crate::workplace::{Workplace, test_device};

const BF16: (&str, &str) = ("[training]", "[training]\nprecision = \"bf16\"");

fn weights(model: &Transformer) -> Vec<f32> {
    assert_eq!(model.output_weight().dtype(), DType::F32);
    let entries = crate::weights::weights(model).into_values();
    entries.flat_map(|entry| entry.values).collect()
}

fn is_supported() -> bool {
    let is_supported = MatmulPrecision::Bf16.is_supported(&test_device());
    if !is_supported {
        println!("skipped: this backend, or this processor, does not multiply bfloat16");
    }
    is_supported
}

/// Adam's first update moves a weight by the learning rate: here by a thousandth of the spacing of
/// bfloat16 at most weights.
#[test]
fn an_update_below_the_spacing_of_bf16_is_not_lost() {
    if !is_supported() {
        return;
    }
    let device = test_device().autodiff();
    let config = TransformerConfig {
        d_model: 16,
        d_ff: 24,
        ..TransformerConfig::tiny(11, 11)
    };
    let model = random_model(&config, &device, 1);
    let model = model.with_matmul_precision(MatmulPrecision::Bf16);
    let before = weights(&model);
    let src = Padded::new(&[vec![4, 5, 3], vec![6, 3]], &device);
    let tgt = Padded::new(&[vec![2, 8], vec![2, 9]], &device);
    let logits = model.forward(&src, tgt.ids());
    let loss = (logits.clone() * logits).mean();
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    let learning_rate = 1e-6;
    let model = ModuleOptimizer::from(Adam::default()).step(learning_rate, model, gradients);
    let moves: Vec<f32> = (weights(&model).iter().zip(&before))
        .map(|(after, before)| (after - before).abs())
        .collect();
    let n_moved = moves.iter().filter(|&&by| by > 0.5e-6).count();
    // Tokens that do not occur, and biases of keys, have no gradient.
    assert!(2 * n_moved > moves.len(), "{n_moved} of {}", moves.len());
    assert!(moves.iter().all(|&by| by < 2e-6));
}

#[test]
fn a_killed_run_in_bf16_resumes_with_equal_results() {
    if !is_supported() {
        return;
    }
    let workplace = Workplace::with(&[BF16, ("n_heads = 2", "n_heads = 2\ndropout = 0.3")]);
    workplace.train("whole", &["--updates", "200"]).lines();
    let mut running = workplace.start("run", 200);
    running.wait_for_intervals(2);
    running.kill();
    workplace.train("run", &["--updates", "200"]).lines();
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_run_in_bf16_has_other_weights() {
    if !is_supported() {
        return;
    }
    let workplace = Workplace::new();
    workplace.train("f32", &[]).lines();
    let bf16 = ["--set", "training.precision=\"bf16\""];
    workplace.train("bf16", &bf16).lines();
    assert!(workplace.weights("bf16") != workplace.weights("f32"));
}

#[test]
fn another_precision_is_a_change_that_can_be_requested() {
    if !is_supported() {
        return;
    }
    let workplace = Workplace::with(&[BF16]);
    workplace.train("run", &["--updates", "20"]).lines();
    let other = ["--updates", "40", "--set", "training.precision=\"f32\""];
    let refused = workplace.train("run", &other);
    let message = refused.failure();
    assert!(
        message.contains(
            "`training.precision` is \"f32\" now, but the run in the folder has \"bf16\""
        ),
        "{message}"
    );
    let changed = workplace.train("run", &[&other[..], &["--allow-changes"]].concat());
    let lines = changed.lines();
    assert!(lines.contains(&"resumed     after update 20"), "{lines:?}");
}

#[test]
fn a_backend_without_bfloat16_is_refused_at_the_start() {
    if MatmulPrecision::Bf16.is_supported(&test_device()) {
        println!("skipped: this backend has bfloat16");
        return;
    }
    let workplace = Workplace::with(&[BF16]);
    let ended = workplace.train("run", &[]);
    let message = ended.failure();
    assert!(
        message.starts_with("`training.precision` is `bf16`, which "),
        "{message}"
    );
    assert!(!workplace.path("run").exists());
}
