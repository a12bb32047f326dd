//! Gradient checkpointing: a pass that computes its layers again has the gradients of one that keeps
//! everything.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Gradients;
use proptest::prelude::*;
use transformer_core::device::is_cpu_memory;
use transformer_core::{Padded, Transformer, TransformerConfig, seed_dropout};

use crate::loss::Labels;
use crate::model::{
    Batch, TGT_VOCAB, batches, configs, random_model, relative_difference, same_sums, test_device,
    tgt_ids, tolerances,
};
use crate::weights::{Entry, gradients};

/// Seed of dropout.
const SEED: u64 = 5;

/// Every target token is the label of its own position.
fn labels(batch: &Batch) -> Labels {
    let of_row = |row: &Vec<u32>| row.iter().map(|id| Some(*id)).collect();
    let labels: Vec<_> = batch.tgt.iter().map(of_row).collect();
    Labels::new(&labels, TGT_VOCAB, 0.1)
}

fn kept(model: &Transformer, batch: &Batch) -> BTreeMap<String, Entry> {
    let device = model.device();
    seed_dropout(&device, SEED);
    let src = Padded::new(&batch.src, &device);
    let logits = model.forward(&src, tgt_ids(&batch.tgt, &device));
    let loss = labels(batch).loss(logits);
    gradients(model, &GradientsParams::from_grads(loss.backward(), model))
}

fn recomputed(model: &Transformer, batch: &Batch) -> BTreeMap<String, Entry> {
    let device = model.device();
    seed_dropout(&device, SEED);
    let src = Padded::new(&batch.src, &device);
    let pass = model.forward_recomputed(&src, tgt_ids(&batch.tgt, &device), SEED);
    let features = pass.features();
    let loss = labels(batch).loss(model.project(features.clone()));
    let of_loss = loss.backward();
    let d_features = features.grad(&of_loss).expect("the loss depends on them");
    let mut sum = GradientsAccumulator::new();
    let mut collect = |gradients: Gradients| {
        sum.accumulate(model, GradientsParams::from_grads(gradients, model));
    };
    collect(of_loss);
    pass.backward(d_features, collect);
    gradients(model, &sum.grads())
}

/// Outside CPU memory a layer seeds dropout, so that the masks are others.
fn with_dropout(mut config: TransformerConfig) -> TransformerConfig {
    let is_cpu = is_cpu_memory(&test_device());
    let dropout = if is_cpu { 0.3 } else { 0.0 };
    config.dropout = dropout;
    config.attention_dropout = dropout;
    config.activation_dropout = dropout;
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn layers_that_are_computed_again_have_the_same_gradients(
        config in configs().prop_map(with_dropout), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed).train();
        let (kept, recomputed) = (kept(&model, &batch), recomputed(&model, &batch));
        prop_assert_eq!(kept.len(), recomputed.len());
        for (name, expected) in kept {
            let in_double = |entry: &Entry| -> Vec<f64> {
                entry.values.iter().map(|value| f64::from(*value)).collect()
            };
            let (found, expected) = (in_double(&recomputed[&name]), in_double(&expected));
            let difference = relative_difference(&found, &expected, 1.0);
            let tolerance = same_sums(tolerances().gradients);
            prop_assert!(difference <= tolerance, "{}: {}", name, difference);
        }
    }
}

/// After the backward pass, the next pass continues with the dropout that follows.
#[test]
fn a_backward_pass_leaves_dropout_where_the_forward_pass_did() {
    let config = TransformerConfig {
        d_model: 8,
        d_ff: 14,
        n_heads: 2,
        dropout: 0.3,
        ..TransformerConfig::tiny(TGT_VOCAB, TGT_VOCAB)
    };
    if !is_cpu_memory(&test_device()) {
        return;
    }
    let model = random_model(&config, 3).train();
    let device = model.device();
    let batch = Batch {
        src: vec![vec![5, 7, 9], vec![4]],
        tgt: vec![vec![2, 8, 6], vec![2, 10, 5]],
    };
    let next_pass = || {
        let src = Padded::new(&batch.src, &device);
        let logits = model.forward(&src, tgt_ids(&batch.tgt, &device));
        logits.into_data()
    };
    kept(&model, &batch);
    let expected = next_pass();
    recomputed(&model, &batch);
    assert_eq!(next_pass(), expected);
}
