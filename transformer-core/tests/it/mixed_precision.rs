//! Matrix products of training in 16 bits, compared with single precision.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the reason"
)]

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::DType;
use proptest::prelude::*;
use transformer_core::model::MatmulPrecision;
use transformer_core::{Transformer, TransformerConfig};

use crate::loss::Labels;
use crate::model::{
    Batch, TGT_VOCAB, batches, configs, difference, forward, random_model, test_device,
};
use crate::weights::{Entry, gradients};

/// The largest relative error of a value that is rounded to bfloat16.
const ROUNDING: f64 = 1.0 / 256.0;

/// Roundings that an output depends on, one after the other, in models of four layers; those of
/// different values partly cancel.
const N_ROUNDINGS: f64 = 20.0;

fn bf16(model: Transformer) -> Transformer {
    model.with_matmul_precision(MatmulPrecision::Bf16)
}

fn gradients_of(model: &Transformer, batch: &Batch) -> BTreeMap<String, Entry> {
    let of_row = |row: &Vec<u32>| row.iter().map(|id| Some(*id)).collect();
    let labels: Vec<_> = batch.tgt.iter().map(of_row).collect();
    let labels = Labels::new(&labels, TGT_VOCAB, 0.1);
    let loss = labels.loss(forward(model, &batch.src, &batch.tgt));
    gradients(model, &GradientsParams::from_grads(loss.backward(), model))
}

/// Returns the length of a gradient, and of its difference from another.
fn lengths(found: &BTreeMap<String, Entry>, expected: &BTreeMap<String, Entry>) -> [f64; 2] {
    let pairs = found.iter().flat_map(|(name, entry)| {
        let expected = expected[name].values.iter();
        entry.values.iter().zip(expected)
    });
    let squares = pairs.fold([0.0, 0.0], |[whole, different], (found, expected)| {
        let (found, expected) = (f64::from(*found), f64::from(*expected));
        [
            whole + expected * expected,
            different + (found - expected) * (found - expected),
        ]
    });
    squares.map(f64::sqrt)
}

fn is_supported() -> bool {
    let is_supported = MatmulPrecision::Bf16.is_supported(&test_device());
    if !is_supported {
        println!("skipped: this backend, or this processor, does not multiply bfloat16");
    }
    is_supported
}

/// Without ReLU, whose derivative jumps: a rounded input can be on the other side of zero.
fn smooth() -> impl Strategy<Value = TransformerConfig> {
    configs().prop_map(|config| TransformerConfig {
        activation: transformer_core::config::Activation::Silu,
        dropout: 0.0,
        ..config
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn gradients_in_bf16_are_those_of_single_precision_up_to_rounding(
        config in smooth(), batch in batches(), seed: u32,
    ) {
        if !is_supported() {
            return Ok(());
        }
        let model = random_model(&config, seed).train();
        let expected = gradients_of(&model, &batch);
        let found = gradients_of(&bf16(model), &batch);
        let [whole, different] = lengths(&found, &expected);
        prop_assert!(different <= N_ROUNDINGS * ROUNDING * whole, "{} of {}", different, whole);
        prop_assert!(different > 0.0, "nothing is rounded");
    }

    #[test]
    fn a_model_that_is_not_trained_computes_in_single_precision(
        config in configs(), batch in batches(), seed: u32,
    ) {
        let model = random_model(&config, seed);
        let expected = forward(&model, &batch.src, &batch.tgt);
        let found = forward(&bf16(model), &batch.src, &batch.tgt);
        prop_assert_eq!(difference(found, expected), 0.0);
    }
}

#[test]
fn weights_and_gradients_stay_in_single_precision() {
    if !is_supported() {
        return;
    }
    let config = TransformerConfig {
        d_model: 8,
        d_ff: 14,
        n_heads: 2,
        ..TransformerConfig::tiny(TGT_VOCAB, TGT_VOCAB)
    };
    let model = bf16(random_model(&config, 3)).train();
    let logits = forward(&model, &[vec![5, 7, 9]], &[vec![2, 8]]);
    assert_eq!(logits.dtype(), DType::F32);
    let weight = model.output_weight();
    let gradient = weight.grad(&logits.sum().backward());
    let gradient = gradient.expect("the logits depend on the matrix");
    assert_eq!((weight.dtype(), gradient.dtype()), (DType::F32, DType::F32));
}
