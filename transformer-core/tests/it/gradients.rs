//! Gradients compared with finite differences of the loss.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use proptest::prelude::*;
use transformer_core::config::Activation;
use transformer_core::random::SplitMix64;
use transformer_core::{Transformer, TransformerConfig};

use crate::loss::Labels;
use crate::model::{Batch, attention_configs, batches, configs, forward, random_model};
use crate::weights::{Entry, centered, gradients, rewrite, weights};

/// Length of a step in the space of one parameter's values.
///
/// The loss has an error of about 1e-6, ten units in its last place; divided by this step that is
/// 7e-5. Four points give a slope that is exact for polynomials up to the fourth degree: its error
/// is of the order of 0.015⁴ = 5e-8 times the fifth derivative.
const STEP: f64 = 0.015;

/// See [`STEP`]. Most slopes are at least ten times as large.
const TOLERANCE: f64 = 5e-4;

/// ReLU is not differentiable at zero; the goldens of PyTorch cover it, and the recurrence, which ends with it.
fn smooth_configs() -> impl Strategy<Value = TransformerConfig> {
    attention_configs().prop_map(|config| TransformerConfig {
        activation: match config.activation {
            Activation::Relu => Activation::Silu,
            smooth => smooth,
        },
        dropout: 0.0,
        ..config
    })
}

/// The label of a position is the next token; the last position has none.
fn labels(batch: &Batch, config: &TransformerConfig) -> Labels {
    let next = |row: &Vec<u32>| -> Vec<Option<u32>> {
        let later = row[1..].iter().map(|id| Some(*id));
        later.chain([None]).collect()
    };
    let labels: Vec<_> = batch.tgt.iter().map(next).collect();
    Labels::new(&labels, config.tgt_vocab_size, 0.1)
}

fn gradients_of(model: &Transformer, batch: &Batch, labels: &Labels) -> BTreeMap<String, Entry> {
    let model = model.clone().train();
    let loss = labels.loss(forward(&model, &batch.src, &batch.tgt));
    gradients(
        &model,
        &GradientsParams::from_grads(loss.backward(), &model),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// One random direction per parameter, in which every value of the parameter changes.
    #[test]
    fn gradients_are_the_slopes_of_the_loss(
        config in smooth_configs(), batch in batches(), seed: u32,
    ) {
        prop_assume!(batch.tgt[0].len() > 1);
        let model = random_model(&config, seed);
        let labels = labels(&batch, &config);
        let mut random = SplitMix64::new((!seed).into());
        for (name, gradient) in gradients_of(&model, &batch, &labels) {
            let length = (gradient.values.len() as f64).sqrt();
            let mut sign = || if centered(&mut random) < 0.0 { -1.0 } else { 1.0 };
            let direction: Vec<f64> = gradient.values.iter().map(|_| sign() / length).collect();
            let loss_at = |step: f64| {
                let moved = rewrite(model.clone(), |other, entry| {
                    let values = entry.values.into_iter();
                    if other != name {
                        return values.collect();
                    }
                    let moves = direction.iter().map(|d| step * d);
                    values.zip(moves).map(|(w, by)| (f64::from(w) + by) as f32).collect()
                });
                labels.value(forward(&moved, &batch.src, &batch.tgt))
            };
            let near = loss_at(STEP) - loss_at(-STEP);
            let far = loss_at(2.0 * STEP) - loss_at(-2.0 * STEP);
            let slope = (8.0 * near - far) / (12.0 * STEP);
            let pairs = gradient.values.iter().zip(&direction);
            let expected: f64 = pairs.map(|(g, d)| f64::from(*g) * d).sum();
            prop_assert!(
                (slope - expected).abs() < TOLERANCE,
                "{name}: slope {slope:e}, gradient {expected:e}"
            );
        }
    }

    #[test]
    fn an_empty_source_has_finite_gradients(config in configs(), batch in batches(), seed: u32) {
        prop_assume!(batch.tgt[0].len() > 1);
        let mut batch = batch;
        batch.src[0].clear();
        let config = TransformerConfig { dropout: 0.0, ..config };
        let model = random_model(&config, seed);
        for (name, gradient) in gradients_of(&model, &batch, &labels(&batch, &config)) {
            prop_assert!(gradient.values.iter().all(|g| g.is_finite()), "{}", name);
            prop_assert_eq!(&gradient.shape, &weights(&model)[&name].shape);
        }
    }
}
