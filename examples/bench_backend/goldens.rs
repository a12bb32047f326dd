//! The differences of a backend's logits and gradients from PyTorch's, with the same weights and sentences.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use serde::Deserialize;
use transformer_core::{Padded, Transformer, TransformerConfig};
use transformer_infer::{BatchLimits, translate_ids};
use transformer_train::config::SmoothingForm;
use transformer_train::step::{LabelSmoothing, Projection, projected_loss_with_gradient};
use transformer_train::{Batch, SentencePair};

use crate::figures::Difference;
use crate::tolerances::Tolerances;
use crate::weights::{gradients, rewrite};
use crate::{print, search};

/// PyTorch's values; `transformer-core/tests/fixtures/generate.py` wrote them.
const GOLDENS: [&str; 4] = [
    include_str!("../../transformer-core/tests/fixtures/paper.json"),
    include_str!("../../transformer-core/tests/fixtures/post_norm_with_final_norms.json"),
    include_str!("../../transformer-core/tests/fixtures/pre_norm_gelu.json"),
    include_str!("../../transformer-core/tests/fixtures/pre_norm_silu_learned.json"),
];

/// A gradient that is smaller than this share of the model's largest is zero up to rounding: that of the keys' biases.
const NEGLIGIBLE: f64 = 1e-2;

/// Maximum tokens of a translation: learned positions end there.
const MAX_LEN: usize = 7;

/// The fields of a golden file that are used here.
#[derive(Deserialize)]
struct Golden {
    config: TransformerConfig,
    src: Vec<Vec<u32>>,
    /// From BOS to EOS.
    tgt: Vec<Vec<u32>>,
    label_smoothing: f64,
    /// `[n_labels, vocab]`.
    logits: Vec<Vec<f64>>,
    parameters: BTreeMap<String, GoldenParameter>,
}

#[derive(Deserialize)]
struct GoldenParameter {
    value: Vec<f32>,
    gradient: Vec<f64>,
}

/// Prints the largest differences of all goldens, each with its tolerance, and the translations of the goldens'
/// sources. Logits are in units of the largest logit, gradients in units of the parameter's largest value.
pub(crate) fn measure(device: &Device, tolerances: &Tolerances) -> Result<()> {
    let (mut logits, mut gradients) = (0.0_f64, 0.0_f64);
    let mut translations = Vec::new();
    for json in GOLDENS {
        let golden: Golden = serde_json::from_str(json).context("a golden file cannot be read")?;
        let model = golden.model(device)?;
        translations.extend(golden.translations(&model));
        logits = largest([logits, golden.logit_difference(&model)].into_iter());
        gradients = largest([gradients, golden.gradient_difference(&model.train())].into_iter());
    }
    // JSON has no NaN: it becomes `null`.
    let difference = |found, tolerance| {
        let found = Some(found);
        Some(Difference { found, tolerance })
    };
    print(|it| {
        it.logits = difference(logits, tolerances.logits);
        it.gradients = difference(gradients, tolerances.gradients);
        it.translations = translations;
    })
}

impl Golden {
    fn model(&self, device: &Device) -> Result<Transformer> {
        let model = self.config.init(device)?;
        let value = |name: &str, _| self.parameters[name].value.clone();
        Ok(rewrite(model, value))
    }

    /// Makes a batch of the sentences as training does.
    fn batch(&self, device: &Device) -> Batch {
        let pairs = self.tgt.iter().map(|tgt| SentencePair {
            src: Vec::new(),
            tgt: tgt[1..tgt.len() - 1].to_vec(),
        });
        let pairs: Vec<SentencePair> = pairs.collect();
        Batch {
            src: Padded::new(&self.src, device), // not every source ends with EOS
            ..Batch::new(&pairs, device)
        }
    }

    fn logit_difference(&self, model: &Transformer) -> f64 {
        let batch = self.batch(&model.device());
        let logits = model.forward(&batch.src, batch.tgt.ids());
        let logits = logits.flatten::<2>(0, 1);
        let logits = logits.select(0, batch.label_positions); // [n_labels, vocab]
        let ours: Vec<f64> = logits.into_data().iter::<f64>().collect();
        difference(&ours, &self.logits.concat(), 0.0)
    }

    /// Translates every source, greedily and with a beam.
    fn translations(&self, model: &Transformer) -> Vec<Vec<u32>> {
        let limits = BatchLimits::for_model(&self.config);
        let sources: Vec<&[u32]> = self.src.iter().map(Vec::as_slice).collect();
        let translate = |beam_size| {
            let search = search(beam_size, MAX_LEN);
            translate_ids(model, &sources, &search, &limits)
        };
        let found = [1, 4].into_iter().flat_map(translate);
        found.map(|found| found[0].ids.clone()).collect()
    }

    fn gradient_difference(&self, model: &Transformer) -> f64 {
        let batch = self.batch(&model.device());
        let smoothing = LabelSmoothing {
            epsilon: self.label_smoothing,
            form: SmoothingForm::AllTokens,
        };
        let scale = 1.0 / batch.size.n_labels as f64;
        let features = model.forward_features(&batch.src, batch.tgt.ids());
        let loss = label_loss(model, features, batch, &smoothing, scale);
        let ours = gradients(model, &GradientsParams::from_grads(loss.backward(), model));
        let all = self.parameters.values().flat_map(|it| &it.gradient);
        let floor = NEGLIGIBLE * largest(all.copied());
        let differences = self.parameters.iter().map(|(name, parameter)| {
            let ours: Vec<f64> = ours[name].values.iter().map(|it| f64::from(*it)).collect();
            difference(&ours, &parameter.gradient, floor)
        });
        largest(differences)
    }
}

/// Computes a scalar from the decoder's output `[batch, tgt_len, d_model]`. Its gradient is that of `scale` times the
/// batch's loss, as in training.
pub(crate) fn label_loss(
    model: &Transformer,
    features: Tensor<3>,
    batch: Batch,
    smoothing: &LabelSmoothing,
    scale: f64,
) -> Tensor<1> {
    let features = features.flatten::<2>(0, 1);
    let features = features.select(0, batch.label_positions); // [n_labels, d_model]
    let labels = match features.device().is_autodiff() {
        true => batch.labels.inner(),
        false => batch.labels,
    };
    projected_loss_with_gradient(features, Projection::of(model), labels, smoothing, scale).1
}

/// Returns the largest magnitude; NaN propagates.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    // `f64::max` would ignore NaN.
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    values.map(f64::abs).fold(0.0, larger)
}

/// Returns the largest difference in units of the largest value, or of `floor` if that is larger.
fn difference(ours: &[f64], theirs: &[f64], floor: f64) -> f64 {
    assert_eq!(ours.len(), theirs.len(), "the golden file has this config");
    let unit = largest(theirs.iter().copied()).max(floor);
    let differences = ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs);
    largest(differences) / unit
}
