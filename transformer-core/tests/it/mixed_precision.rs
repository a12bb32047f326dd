//! Matrix products of training in 16 bits, compared with single precision.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the reason"
)]

use burn::module::Module;
use burn::tensor::DType;
use proptest::prelude::*;
use transformer_core::model::MatmulPrecision;
use transformer_core::{Transformer, TransformerConfig, device};

use crate::goldens::Golden;
use crate::model::{
    TGT_VOCAB, batches, configs, difference, forward, random_model, test_device, tolerances,
};

const GOLDEN: &str = include_str!("../fixtures/bf16.json");

fn bf16(model: Transformer) -> Transformer {
    model.with_matmul_precision(MatmulPrecision::Bf16)
}

fn is_supported() -> bool {
    let is_supported = MatmulPrecision::Bf16.is_supported(&test_device());
    if !is_supported {
        println!("skipped: this backend, or this processor, does not multiply bfloat16");
    }
    is_supported
}

/// Only CPUs round the factors of linear layers alone, as the fixture does.
#[test]
fn gradients_are_those_of_pytorchs_rounded_factors() {
    if !is_supported() || !device::is_rust_cpu(&test_device()) {
        return;
    }
    let golden = Golden::read(GOLDEN);
    for (name, error) in golden.gradient_errors(&bf16(golden.model()).train()) {
        assert!(error < tolerances().gradients, "{name}: {error:e}");
    }
    for (name, error) in golden.gradient_errors(&golden.model().train()) {
        let is_rounded = name.ends_with(".weight");
        assert!(
            !is_rounded || error > 1e-3,
            "{name}: {error:e} without rounding"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

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
