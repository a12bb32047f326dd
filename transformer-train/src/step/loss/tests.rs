//! Loss and gradients compared with the textbook formula and autodiff.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData, Tolerance, activation};
use transformer_core::config::{AdapterConfig, AdapterTarget, TransformerConfig, Tying};
use transformer_core::random::SplitMix64;
use transformer_core::{Padded, Transformer, device};

use super::inputs::{LossInputs, MAX_LOGITS_CPU};
use super::tensors::{self, ChunkedLoss};
use super::*;
use crate::config::SmoothingForm;
use crate::weights::{self, random_model};

const SMOOTHING: LabelSmoothing = LabelSmoothing {
    epsilon: 0.1,
    form: SmoothingForm::AllTokens,
};

fn device() -> Device {
    device::choose(None)
        .expect("tests are built with a backend")
        .1
}

/// The textbook loss: the cross-entropy of a full target distribution with a log-softmax.
fn textbook(logits: Tensor<2>, labels: &[usize], smoothing: LabelSmoothing) -> Tensor<1> {
    let [n_tokens, vocab_size] = logits.dims();
    let (on_gold, on_others) = match smoothing.form {
        SmoothingForm::AllTokens => {
            let on_each = smoothing.epsilon / vocab_size as f64;
            (1.0 - smoothing.epsilon + on_each, on_each)
        }
        SmoothingForm::OtherTokens => (
            1.0 - smoothing.epsilon,
            smoothing.epsilon / (vocab_size as f64 - 1.0),
        ),
    };
    let target: Vec<f64> = (0..n_tokens * vocab_size)
        .map(|i| {
            if labels[i / vocab_size] == i % vocab_size {
                on_gold
            } else {
                on_others
            }
        })
        .collect();
    let data = TensorData::new(target, [n_tokens, vocab_size]);
    let target = Tensor::<2>::from_data(data, &logits.device());
    (activation::log_softmax(logits, 1) * target).sum().neg()
}

#[test]
fn two_tokens_of_equal_score_cost_ln_2() {
    let device = device();
    let features = Tensor::<2>::from_data([[3.0]], &device);
    let projection = Projection::new(Tensor::from_data([[1.0], [1.0]], &device), None);
    let labels = Tensor::<1, Int>::from_data([1], &device);
    let sums = projected_loss(features, projection, labels, &SMOOTHING);
    let expected = std::f64::consts::LN_2;
    assert!((sums.nll.into_scalar::<f64>() - expected).abs() < 1e-6);
    assert!((sums.smoothed.into_scalar::<f64>() - expected).abs() < 1e-6);
}

fn assert_gradients_of_the_textbook(form: SmoothingForm) {
    let device = device().autodiff();
    let smoothing = LabelSmoothing { epsilon: 0.1, form };
    let mut generator = SplitMix64::new(1);
    let mut random = |shape| -> Tensor<2> { weights::tensor(shape, &mut generator, &device) * 4.0 };
    let features = random([7, 5]).require_grad();
    let weight = random([11, 5]).require_grad();
    let bias = random([1, 11]).require_grad();
    let labels = [3, 0, 10, 3, 7, 1, 1];
    let label_tensor = Tensor::<1, Int>::from_data(labels, &device.inner());

    let logits = features.clone().matmul(weight.clone().transpose()) + bias.clone();
    let expected = textbook(logits, &labels.map(|label| label as usize), smoothing) * 0.25;
    let expected_gradients = expected.backward();
    let projection = Projection::new(weight.clone(), Some(bias.clone().squeeze_dim(0)));
    let (sums, surrogate) = projected_loss_with_gradient(
        features.clone(),
        projection.clone(),
        label_tensor.clone(),
        &smoothing,
        0.25,
    );
    let gradients = surrogate.backward();

    // Single precision, sums of about ten terms of size one.
    let tolerance = Tolerance::absolute(1e-5);
    let agree = |ours: Tensor<2>, theirs: Tensor<2>| {
        ours.into_data()
            .assert_approx_eq::<f32>(&theirs.into_data(), tolerance);
    };
    (sums.smoothed * 0.25)
        .into_data()
        .assert_approx_eq::<f32>(&expected.clone().inner().into_data(), tolerance);
    let (inputs, ..) = LossInputs::new(
        features.clone(),
        projection,
        label_tensor,
        &smoothing,
        Some(0.25),
    );
    let (sums, by_tensors) = tensors::loss(inputs);
    let by_tensors = by_tensors.expect("there is a scale");
    (sums.smoothed * 0.25)
        .into_data()
        .assert_approx_eq::<f32>(&expected.inner().into_data(), tolerance);
    let by_tensors = [
        by_tensors.features,
        by_tensors
            .weight
            .expect("the weight is on an autodiff device"),
        by_tensors.bias.expect("there is a bias").unsqueeze(),
    ];
    for (tensor, by_tensors) in [features, weight, bias].into_iter().zip(by_tensors) {
        let ours = tensor
            .grad(&gradients)
            .expect("the surrogate depends on every input");
        let theirs = tensor
            .grad(&expected_gradients)
            .expect("the loss depends on every input");
        agree(by_tensors, theirs.clone());
        agree(ours, theirs);
    }
}

#[test]
fn smoothing_over_all_tokens_has_the_gradient_of_the_textbook() {
    assert_gradients_of_the_textbook(SmoothingForm::AllTokens);
}

#[test]
fn smoothing_over_other_tokens_has_the_gradient_of_the_textbook() {
    assert_gradients_of_the_textbook(SmoothingForm::OtherTokens);
}

#[test]
fn chunks_are_as_long_as_the_limit_of_logits_allows() {
    let device = device();
    let weight = Tensor::zeros([MAX_LOGITS_CPU / 2, 1], &device);
    let loss = ChunkedLoss::new(weight, None, SMOOTHING.epsilon);
    let features = Tensor::<2>::zeros([5, 1], &device);
    let labels = Tensor::<1, Int>::from_data([0, 1, 2, 3, 4], &device);
    let lengths: Vec<usize> = loss
        .chunks(features, labels)
        .map(|(h, _)| h.dims()[0])
        .collect();
    assert_eq!(lengths, [2, 2, 1]);
}

#[test]
fn features_have_the_same_gradient_whether_the_projection_is_trained_or_constant() {
    let device = device().autodiff();
    let mut generator = SplitMix64::new(1);
    let mut random = |shape| -> Tensor<2> { weights::tensor(shape, &mut generator, &device) * 4.0 };
    let features = random([7, 5]).require_grad();
    let weight = random([11, 5]);
    let labels = Tensor::<1, Int>::from_data([3, 0, 10, 3, 7, 1, 1], &device.inner());
    let gradient = |weight: Tensor<2>| {
        let bias = Some(Tensor::zeros([11], &weight.device()));
        let projection = Projection::new(weight, bias);
        let (features, labels) = (features.clone(), labels.clone());
        let (_, surrogate) =
            projected_loss_with_gradient(features.clone(), projection, labels, &SMOOTHING, 0.25);
        let gradient = features.grad(&surrogate.backward());
        gradient.expect("the surrogate depends on it").into_data()
    };
    let trained = gradient(weight.clone().require_grad());
    let constant = gradient(weight.without_autodiff());
    constant.assert_eq(&trained, true);
}

/// Collects the gradients of a model's parameters by their paths.
struct Gradients {
    gradients: GradientsParams,
    path: Vec<String>,
    found: BTreeMap<String, TensorData>,
}

impl ModuleVisitor for Gradients {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.found.insert(self.path.join("."), gradient.into_data());
        }
    }
}

fn gradients_of(model: &Transformer, loss: &Tensor<1>) -> BTreeMap<String, TensorData> {
    let mut visitor = Gradients {
        gradients: GradientsParams::from_grads(loss.backward(), model),
        path: Vec::new(),
        found: BTreeMap::new(),
    };
    model.visit(&mut visitor);
    visitor.found
}

/// Gives every trained parameter random values, so that neither matrix of an adapter is zero.
struct Randomize(SplitMix64);

impl ModuleMapper for Randomize {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.is_require_grad() {
            return param;
        }
        let random = |old: Tensor<D>| weights::tensor(old.dims(), &mut self.0, &old.device());
        param.map(random).set_require_grad(true)
    }
}

/// The projection is a sum of matrices where it has an adapter, and no parameter itself.
#[test]
fn adapters_have_the_gradients_of_the_textbook() {
    let device = device().autodiff();
    let src = Padded::new(&[vec![4, 5, 6]], &device);
    let tgt = || Tensor::<2, Int>::from_data([[2, 8, 9]], &device);
    let all = AdapterConfig {
        rank: 2,
        ..AdapterConfig::default()
    };
    let layers_alone = AdapterConfig {
        targets: vec![AdapterTarget::Attention],
        ..all.clone()
    };
    let without_biases = AdapterConfig {
        train_biases: false,
        ..all.clone()
    };
    let with_tokens = AdapterConfig {
        trained_tokens: 3,
        ..all.clone()
    };
    for tying in [Tying::All, Tying::Decoder, Tying::None] {
        for adapters in [&all, &layers_alone, &without_biases, &with_tokens] {
            let config = TransformerConfig {
                d_model: 8,
                d_ff: 12,
                n_heads: 2,
                n_encoder_layers: 1,
                n_decoder_layers: 1,
                dropout: 0.0,
                output_bias: true,
                tying,
                ..TransformerConfig::tiny(12, 12)
            };
            let mut model = random_model(&config, &device, 1).with_adapters(adapters);
            if adapters.trained_tokens > 0 {
                // One of them is a label.
                model = model.with_trained_tokens(&[8, 0, 5], &[2, 9, 11]);
            }
            let model = model.map(&mut Randomize(SplitMix64::new(1)));
            let features = model.forward_features(&src, tgt()).flatten::<2>(0, 1);
            let labels = [8, 9, 3];
            let gold = Tensor::<1, Int>::from_data(labels, &device.clone().inner());
            let projection = Projection::of(&model);
            let (_, surrogate) =
                projected_loss_with_gradient(features, projection, gold, &SMOOTHING, 1.0);
            let ours = gradients_of(&model, &surrogate);

            let logits = model.forward(&src, tgt()).flatten::<2>(0, 1);
            let expected = gradients_of(&model, &textbook(logits, &labels, SMOOTHING));
            let paths =
                |gradients: &BTreeMap<_, _>| gradients.keys().cloned().collect::<Vec<String>>();
            assert_eq!(paths(&ours), paths(&expected));
            for (path, gradient) in &ours {
                gradient.assert_approx_eq::<f32>(&expected[path], Tolerance::default());
            }
        }
    }
}
