//! A single attention as in BERT: `bert_attention` in `tests/fixtures/primitives.py`, and `activations` in
//! `stacks.py`.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;
use transformer_core::config::Activation;
use transformer_core::model::{AttentionConfig, MultiHeadAttention, ProjectionActivations};
use transformer_core::{Mask, Padded};

use crate::goldens::{GoldenParameter, NEGLIGIBLE};
use crate::model::{difference, relative_difference, same_sums, test_device, tolerances};
use crate::weights::{Entry, gradients, rewrite, weights};

const BERT_ATTENTION: &str = include_str!("../fixtures/bert_attention.json");
const ACTIVATIONS: &str = include_str!("../fixtures/activations.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BertAttention {
    n_heads: usize,
    /// Number of tokens in each row of the memory, before its padding.
    lengths: Vec<usize>,
    /// `[batch, len, d_query]`, with its gradient.
    query: GoldenParameter,
    /// `[batch, memory_len, d_memory]`, with its gradient.
    memory: GoldenParameter,
    /// `[batch, memory_len]`, −10,000 for padding.
    mask: Array,
    /// `[batch, len, d_query]`.
    output: Array,
    /// `[batch, len, d_query]`; the loss is its dot product with the output.
    cotangent: Array,
    /// `[batch, n_heads, len, memory_len]`.
    weights: Array,
    parameters: BTreeMap<String, GoldenParameter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Array {
    shape: Vec<usize>,
    value: Vec<f32>,
}

fn tensor<const D: usize>(shape: &[usize], value: &[f32], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(value.to_vec(), shape.to_vec()), device)
}

impl Array {
    pub(crate) fn tensor<const D: usize>(&self, device: &Device) -> Tensor<D> {
        tensor(&self.shape, &self.value, device)
    }
}

impl GoldenParameter {
    pub(crate) fn tensor<const D: usize>(&self, device: &Device) -> Tensor<D> {
        tensor(&self.shape, &self.value, device)
    }

    pub(crate) fn largest_gradient(&self) -> f64 {
        let sizes = self.gradient.iter().map(|entry| entry.abs());
        sizes.fold(0.0, f64::max)
    }

    pub(crate) fn check_gradient(&self, name: &str, ours: &TensorData, floor: f64) {
        let ours: Vec<f64> = ours.iter::<f64>().collect();
        let found = relative_difference(&ours, &self.gradient, floor);
        assert!(found < tolerances().gradients, "{name}: {found:e}");
    }
}

impl BertAttention {
    fn read() -> Self {
        serde_json::from_str(BERT_ATTENTION).expect("the generator writes the fields above")
    }

    /// Builds the layer with PyTorch's weights.
    fn layer(&self) -> MultiHeadAttention {
        let d_memory = self.memory.shape[2];
        let config = AttentionConfig {
            d_memory,
            ..AttentionConfig::new(self.query.shape[2], self.n_heads)
        };
        assert_ne!(config.d_query, d_memory);
        let layer = config.init(&test_device());
        let ours: Vec<String> = weights(&layer).into_keys().collect();
        assert!(ours.iter().eq(self.parameters.keys()), "{ours:?}");
        rewrite(layer, |name, entry| {
            let parameter = &self.parameters[name];
            assert_eq!(parameter.shape, entry.shape, "{name}");
            parameter.value.clone()
        })
    }

    /// BERT's mask: `[batch, 1, 1, memory_len]`, added to the scores.
    fn additive(&self, device: &Device) -> Mask {
        let mask = self.mask.tensor::<2>(device);
        Mask::additive(mask.unsqueeze_dims(&[1, 1]))
    }

    /// Attends with a mask.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, len, d_query]` and `[batch, n_heads, len, memory_len]`
    fn attend(&self, mask: &Mask) -> (Tensor<3>, Tensor<4>) {
        let device = test_device();
        let layer = self.layer();
        let keys_values = layer.keys_values(self.memory.tensor(&device));
        layer.attend_with_weights(self.query.tensor(&device), keys_values, Some(mask))
    }
}

#[test]
fn outputs_over_a_memory_of_another_width_are_those_of_pytorch() {
    let golden = BertAttention::read();
    let device = test_device();
    let (output, _) = golden.attend(&golden.additive(&device));
    let found = difference(output, golden.output.tensor(&device));
    assert!(found < tolerances().logits, "{found:e}");
}

#[test]
fn weights_over_a_memory_of_another_width_are_those_of_pytorch() {
    let golden = BertAttention::read();
    let device = test_device();
    let (_, ours) = golden.attend(&golden.additive(&device));
    let found = difference(ours, golden.weights.tensor(&device));
    assert!(found < tolerances().weights, "{found:e}");
}

#[test]
fn gradients_over_a_memory_of_another_width_are_those_of_pytorch() {
    let golden = BertAttention::read();
    let layer = golden.layer().train();
    let device = test_device().autodiff();
    let query = golden.query.tensor::<3>(&device).require_grad();
    let memory = golden.memory.tensor::<3>(&device).require_grad();
    let mask = golden.additive(&device);
    let keys_values = layer.keys_values(memory.clone());
    let output = layer.attend(query.clone(), keys_values, Some(&mask));
    let slopes = (output * golden.cotangent.tensor(&device)).sum().backward();

    let inputs = [(&golden.query, query), (&golden.memory, memory)];
    for (theirs, ours) in inputs {
        let gradient = ours.grad(&slopes).expect("the loss depends on the input");
        theirs.check_gradient("input", &gradient.into_data(), 0.0);
    }
    let ours = gradients(&layer, &GradientsParams::from_grads(slopes, &layer));
    check_gradients(&golden.parameters, &ours);
}

/// Compares the gradients of all parameters of a golden file.
pub(crate) fn check_gradients(
    theirs: &BTreeMap<String, GoldenParameter>,
    ours: &BTreeMap<String, Entry>,
) {
    let largest = theirs.values().map(GoldenParameter::largest_gradient);
    let floor = NEGLIGIBLE * largest.fold(0.0, f64::max);
    for (name, theirs) in theirs {
        let entry = &ours[name];
        let data = TensorData::new(entry.values.clone(), entry.shape.clone());
        theirs.check_gradient(name, &data, floor);
    }
}

#[test]
fn minus_ten_thousand_hides_what_a_padding_mask_hides() {
    let golden = BertAttention::read();
    let device = test_device();
    let rows: Vec<Vec<u32>> = golden.lengths.iter().map(|len| vec![7; *len]).collect();
    let padding = Padded::new(&rows, &device).mask();
    let padding = Mask::padding(padding.expect("one row is shorter"));
    let (expected, expected_weights) = golden.attend(&padding);
    let (output, weights) = golden.attend(&golden.additive(&device));
    assert!(difference(output, expected) <= same_sums(tolerances().logits));
    assert!(difference(weights, expected_weights) <= same_sums(tolerances().weights));
}

#[test]
fn returning_weights_changes_no_output() {
    let golden = BertAttention::read();
    let device = test_device();
    let mask = golden.additive(&device);
    let layer = golden.layer();
    let keys_values = layer.keys_values(golden.memory.tensor(&device));
    let plain = layer.attend(golden.query.tensor(&device), keys_values, Some(&mask));
    let (with_weights, _) = golden.attend(&mask);
    assert!(difference(with_weights, plain) <= same_sums(tolerances().logits));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActivatedAttention {
    n_heads: usize,
    /// `[batch, len, d_query]`, with its gradient.
    query: GoldenParameter,
    /// `[batch, memory_len, d_memory]`, with its gradient.
    memory: GoldenParameter,
    /// `[batch, len, d_query]`.
    output: Array,
    /// `[batch, len, d_query]`; the loss is its dot product with the output.
    cotangent: Array,
    parameters: BTreeMap<String, GoldenParameter>,
}

impl ActivatedAttention {
    fn read() -> Self {
        serde_json::from_str(ACTIVATIONS).expect("the generator writes the fields above")
    }

    /// Builds the layer with PyTorch's weights.
    fn layer(&self) -> MultiHeadAttention {
        let config = AttentionConfig {
            d_memory: self.memory.shape[2],
            activations: ProjectionActivations {
                query: Some(Activation::Gelu),
                key: Some(Activation::Silu),
                value: Some(Activation::Relu),
            },
            ..AttentionConfig::new(self.query.shape[2], self.n_heads)
        };
        rewrite(config.init(&test_device()), |name, _| {
            self.parameters[name].value.clone()
        })
    }
}

#[test]
fn outputs_with_activations_after_the_projections_are_those_of_pytorch() {
    let golden = ActivatedAttention::read();
    let (layer, device) = (golden.layer(), test_device());
    let keys_values = layer.keys_values(golden.memory.tensor(&device));
    let output = layer.attend(golden.query.tensor(&device), keys_values, None);
    let found = difference(output, golden.output.tensor(&device));
    assert!(found < tolerances().logits, "{found:e}");
}

#[test]
fn gradients_with_activations_after_the_projections_are_those_of_pytorch() {
    let golden = ActivatedAttention::read();
    let (layer, device) = (golden.layer().train(), test_device().autodiff());
    let query = golden.query.tensor::<3>(&device).require_grad();
    let memory = golden.memory.tensor::<3>(&device).require_grad();
    let output = layer.attend(query.clone(), layer.keys_values(memory.clone()), None);
    let slopes = (output * golden.cotangent.tensor(&device)).sum().backward();
    for (theirs, ours) in [(&golden.query, query), (&golden.memory, memory)] {
        let gradient = ours.grad(&slopes).expect("the loss depends on the input");
        theirs.check_gradient("input", &gradient.into_data(), 0.0);
    }
    let ours = gradients(&layer, &GradientsParams::from_grads(slopes, &layer));
    check_gradients(&golden.parameters, &ours);
}
