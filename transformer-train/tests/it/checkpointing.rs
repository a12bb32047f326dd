//! Gradient checkpointing: layers that the backward pass computes again.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the reason"
)]

use crate::resume::assert_same;
use crate::workplace::{FILES, Workplace, test_device};

const LAYERS: [&str; 2] = ["--set", "training.checkpointing=\"layers\""];

/// Dropout everywhere, tied matrices, and two batches to an update.
fn workplace() -> Workplace {
    let model = "n_heads = 2\ndropout = 0.3\nattention_dropout = 0.2\nactivation_dropout = 0.1";
    Workplace::with(&[
        ("n_heads = 2", model),
        ("n_encoder_layers = 1", "n_encoder_layers = 2"),
        ("n_decoder_layers = 1", "n_decoder_layers = 3"),
        ("updates = 25", "updates = 25\naccumulate = 2"),
    ])
}

fn is_deterministic() -> bool {
    let is_cpu = transformer_core::device::is_rust_cpu(&test_device());
    if !is_cpu {
        println!("skipped: the backend chooses kernels, and dropout has other masks on GPUs");
    }
    is_cpu
}

#[test]
fn a_run_that_computes_layers_again_has_equal_results() {
    if !is_deterministic() {
        return;
    }
    let workplace = workplace();
    workplace.train("kept", &[]).lines();
    workplace.train("again", &LAYERS).lines();
    assert_same(&workplace, "again", "kept");
}

#[test]
fn parts_of_other_architectures_train_with_layers_computed_again_and_translate() {
    if !is_deterministic() {
        return;
    }
    let parts = r#"n_heads = 2
        dropout = 0.3
        activation_dropout = 0.1
        norm_kind = "rms"
        gated_feed_forward = true
        embedding_norm = true
        positions = "sinusoidal_halves_inclusive"
        first_position = 2"#;
    let workplace = Workplace::with(&[("n_heads = 2", parts)]);
    workplace.train("kept", &[]).lines();
    workplace.train("again", &LAYERS).lines();
    assert_same(&workplace, "again", "kept");
    assert!(workplace.translates("kept"));
}

#[test]
fn threads_that_compute_layers_again_have_equal_results() {
    if !is_deterministic() {
        return;
    }
    let workplace = workplace();
    let train = |out: &str, more: &[&str]| {
        let threads = ["--threads", "2", "--out", out];
        let ended = workplace.run(&[&FILES[..], &threads, more].concat());
        ended.lines();
    };
    train("kept", &[]);
    train("again", &LAYERS);
    assert_same(&workplace, "again", "kept");
}

#[test]
fn a_resumed_run_may_begin_to_compute_layers_again() {
    if !is_deterministic() {
        return;
    }
    let workplace = workplace();
    workplace.train("whole", &["--updates", "30"]).lines();
    workplace.train("run", &["--updates", "10"]).lines();
    let more = ["--updates", "30"];
    workplace.train("run", &[more, LAYERS].concat()).lines();
    assert_same(&workplace, "run", "whole");
}
