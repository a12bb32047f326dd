//! The same weights and sentences in PyTorch: `tests/fixtures/generate.py` says how they were made.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use serde::Deserialize;
use transformer_core::{Transformer, TransformerConfig};

use crate::loss::Labels;
use crate::model::{forward, relative_difference, test_device};
use crate::weights::{gradients, rewrite, weights};

/// Of float32 beside float64, in units of the largest logit.
const LOGITS_TOLERANCE: f64 = 1e-5;

/// In units of the largest entry of the parameter's gradient: backward goes twice as deep.
const GRADIENT_TOLERANCE: f64 = 1e-4;

/// A gradient this much smaller than the largest of the model is zero but for rounding. (The keys'
/// biases have none: they add the same to all scores of a query.)
const NEGLIGIBLE: f64 = 1e-2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    config: TransformerConfig,
    src: Vec<Vec<u32>>,
    /// From BOS to EOS.
    tgt: Vec<Vec<u32>>,
    label_smoothing: f64,
    loss: f64,
    /// `[n_labels, vocab]`, row by row of the batch, without padding.
    logits: Vec<Vec<f64>>,
    parameters: BTreeMap<String, GoldenParameter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenParameter {
    shape: Vec<usize>,
    value: Vec<f32>,
    gradient: Vec<f64>,
}

impl Golden {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).expect("the generator writes the fields above")
    }

    /// Builds the model with PyTorch's weights.
    fn model(&self) -> Transformer {
        let model = self
            .config
            .init(&test_device())
            .expect("the config describes a model");
        let ours: Vec<String> = weights(&model).into_keys().collect();
        assert!(ours.iter().eq(self.parameters.keys()), "{ours:?}");
        rewrite(model, |name, entry| {
            let parameter = &self.parameters[name];
            assert_eq!(parameter.shape, entry.shape, "{name}");
            parameter.value.clone()
        })
    }

    /// # Shapes
    ///
    /// - returns: `[batch, tgt_len, vocab]`
    fn forward(&self, model: &Transformer) -> Tensor<3> {
        let inputs: Vec<Vec<u32>> = self
            .tgt
            .iter()
            .map(|row| row[..row.len() - 1].to_vec())
            .collect();
        forward(model, &self.src, &inputs)
    }

    /// Returns the gold token of every place, `None` where the target is padded.
    fn labels(&self) -> Vec<Vec<Option<u32>>> {
        let tgt_len = self.tgt.iter().map(Vec::len).max().unwrap_or(0) - 1;
        let label = |row: &Vec<u32>| (1..=tgt_len).map(|place| row.get(place).copied()).collect();
        self.tgt.iter().map(label).collect()
    }

    fn loss(&self) -> Labels {
        let vocab = self.config.tgt_vocab_size;
        Labels::new(&self.labels(), vocab, self.label_smoothing)
    }

    fn check_logits(&self) {
        let logits = self.forward(&self.model());
        let vocab = self.config.tgt_vocab_size;
        let all: Vec<f64> = logits.clone().into_data().iter::<f64>().collect();
        let real = all
            .chunks(vocab)
            .zip(self.labels().concat())
            .filter(|(_, label)| label.is_some())
            .flat_map(|(row, _)| row.to_vec());
        let found = relative_difference(&real.collect::<Vec<_>>(), &self.logits.concat(), 1.0);
        assert!(found < LOGITS_TOLERANCE, "{found:e}");
        let loss = self.loss().value(logits);
        assert!(
            (loss - self.loss).abs() < LOGITS_TOLERANCE,
            "{loss} instead of {}",
            self.loss
        );
    }

    fn check_gradients(&self) {
        let model = self.model().train();
        let loss = self.loss().loss(self.forward(&model));
        let ours = gradients(
            &model,
            &GradientsParams::from_grads(loss.backward(), &model),
        );
        let largest = self
            .parameters
            .values()
            .flat_map(|parameter| &parameter.gradient)
            .fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        for (name, parameter) in &self.parameters {
            let actual: Vec<f64> = ours[name].numbers.iter().map(|g| f64::from(*g)).collect();
            let floor = NEGLIGIBLE * largest;
            let found = relative_difference(&actual, &parameter.gradient, floor);
            assert!(found < GRADIENT_TOLERANCE, "{name}: {found:e}");
        }
    }
}

const POST_NORM_WITH_FINAL_NORMS: &str =
    include_str!("../fixtures/post_norm_with_final_norms.json");
const PAPER: &str = include_str!("../fixtures/paper.json");
const PRE_NORM_GELU: &str = include_str!("../fixtures/pre_norm_gelu.json");
const PRE_NORM_SILU_LEARNED: &str = include_str!("../fixtures/pre_norm_silu_learned.json");

#[test]
fn the_logits_are_those_of_pytorchs_transformer() {
    Golden::read(POST_NORM_WITH_FINAL_NORMS).check_logits();
}

#[test]
fn the_gradients_are_those_of_pytorchs_transformer() {
    Golden::read(POST_NORM_WITH_FINAL_NORMS).check_gradients();
}

#[test]
fn the_logits_of_the_papers_tied_model_are_those_of_pytorch() {
    Golden::read(PAPER).check_logits();
}

#[test]
fn the_gradients_of_the_papers_tied_model_are_those_of_pytorch() {
    Golden::read(PAPER).check_gradients();
}

#[test]
fn the_logits_of_pre_norm_with_gelu_are_those_of_pytorch() {
    Golden::read(PRE_NORM_GELU).check_logits();
}

#[test]
fn the_gradients_of_pre_norm_with_gelu_are_those_of_pytorch() {
    Golden::read(PRE_NORM_GELU).check_gradients();
}

#[test]
fn the_logits_with_learned_positions_and_silu_are_those_of_pytorch() {
    Golden::read(PRE_NORM_SILU_LEARNED).check_logits();
}

#[test]
fn the_gradients_with_learned_positions_and_silu_are_those_of_pytorch() {
    Golden::read(PRE_NORM_SILU_LEARNED).check_gradients();
}
