//! Comparison of the packed model with PyTorch.

use transformer_core::ComputePrecision;
use transformer_core::packed::{PackedTransformer, Workspace};

use crate::goldens::{FAIRSEQ_SINUSOIDS, GATED_FEED_FORWARD, Golden, MBART, RMS_NORMS, SSRU};
use crate::model::relative_difference;

/// The tolerance of the packed model, as in its unit tests.
const PACKED: f64 = 2e-5;

/// Returns the logits of a fixture, decoded token by token.
fn decoded(golden: &Golden, precision: ComputePrecision) -> Vec<Vec<f64>> {
    let packed = PackedTransformer::of(&golden.model(), precision);
    let mut workspace = Workspace::new();
    let mut logits = Vec::new();
    for (src, tgt) in golden.src.iter().zip(&golden.tgt) {
        let mut state = packed.begin(&[src], &mut workspace);
        for token in &tgt[..tgt.len() - 1] {
            let step = packed.step(&mut state, &[*token], &mut workspace);
            logits.push(step.iter().map(|logit| f64::from(*logit)).collect());
        }
    }
    assert_eq!(logits.len(), golden.logits.len());
    logits
}

fn check(fixture: &str) {
    let golden = Golden::read(fixture);
    let ours = decoded(&golden, ComputePrecision::F32);
    for (ours, theirs) in ours.iter().zip(&golden.logits) {
        let found = relative_difference(ours, theirs, 1.0);
        assert!(found < PACKED, "{found:e}");
    }
}

/// Compares with integers; the difference is relative to the norm of the logits.
fn check_int8(fixture: &str, tolerance: f64) {
    let golden = Golden::read(fixture);
    let (ours, theirs) = (
        decoded(&golden, ComputePrecision::Int8).concat(),
        golden.logits.concat(),
    );
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|it| it * it).sum::<f64>().sqrt();
    let error = norm(&mut ours.iter().zip(&theirs).map(|(a, b)| a - b));
    let found = error / norm(&mut theirs.iter().copied());
    assert!(found < tolerance, "{found:e}");
}

#[test]
fn the_packed_logits_with_fairseqs_sinusoids_are_those_of_pytorch() {
    check(FAIRSEQ_SINUSOIDS);
}

#[test]
fn the_packed_logits_with_rms_norms_are_those_of_pytorch() {
    check(RMS_NORMS);
}

#[test]
fn the_packed_logits_with_a_gate_are_those_of_pytorch() {
    check(GATED_FEED_FORWARD);
}

#[test]
fn the_packed_logits_with_mbarts_embeddings_are_those_of_pytorch() {
    check(MBART);
}

#[test]
fn a_packed_recurrent_decoder_has_the_logits_of_pytorch() {
    check(SSRU);
    // Each of about 20 products in a row rounds weights and activations by at most 0.4% of the largest.
    check_int8(SSRU, 0.05);
}
