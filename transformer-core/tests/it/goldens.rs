//! Comparison with PyTorch for the same weights and sentences; `generate.py` and `primitives.py` in
//! `tests/fixtures` generate the fixtures.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;
use transformer_core::{
    AttentionMaps, AttentionMasks, Mask, Padded, Transformer, TransformerConfig,
};

use crate::loss::Labels;
use crate::model::{random_model, relative_difference, tgt_ids, tolerances};
use crate::weights::{gradients, rewrite, weights};

/// Gradients are compared relative to at least this share of the model's largest one: smaller ones
/// may be rounding errors of zero. (The keys' biases have gradient zero: they add the same to all
/// scores of a query.)
pub(crate) const NEGLIGIBLE: f64 = 1e-2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Golden {
    pub(crate) config: TransformerConfig,
    pub(crate) src: Vec<Vec<u32>>,
    /// From BOS to EOS.
    pub(crate) tgt: Vec<Vec<u32>>,
    label_smoothing: f64,
    loss: f64,
    /// `[n_labels, vocab]`, row by row of the batch, without padding.
    pub(crate) logits: Vec<Vec<f64>>,
    #[serde(default)]
    maps: GoldenMaps,
    #[serde(default)]
    masks: GoldenMasks,
    curve: Option<GoldenCurve>,
    parameters: BTreeMap<String, GoldenParameter>,
}

/// Attention weights of every layer.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenMaps {
    encoder: Vec<GoldenMap>,
    decoder: Vec<GoldenMap>,
    cross: Vec<GoldenMap>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenMap {
    /// `[batch, n_heads, queries, keys]`.
    shape: [usize; 4],
    value: Vec<f64>,
}

/// Biases that are added to scores.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoldenMasks {
    encoder: Option<GoldenMask>,
    decoder: Option<GoldenMask>,
    cross: Option<GoldenMask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoldenMask {
    shape: [usize; 4],
    /// `None` is −∞, which JSON does not have.
    value: Vec<Option<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoldenParameter {
    pub(crate) shape: Vec<usize>,
    pub(crate) value: Vec<f32>,
    pub(crate) gradient: Vec<f64>,
}

/// A training run on the same batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenCurve {
    /// Learning rate of Adam, whose other settings are those of §5.3.
    learning_rate: f64,
    /// The loss before each update.
    losses: Vec<f64>,
}

impl GoldenMask {
    fn to_mask(&self, device: &Device) -> Mask {
        let bias = |bias: &Option<f32>| bias.unwrap_or(f32::NEG_INFINITY);
        let biases: Vec<f32> = self.value.iter().map(bias).collect();
        Mask::additive(Tensor::from_data(
            TensorData::new(biases, self.shape),
            device,
        ))
    }
}

impl GoldenMasks {
    pub(crate) fn on(&self, device: &Device) -> AttentionMasks {
        let mask = |golden: &Option<GoldenMask>| golden.as_ref().map(|it| it.to_mask(device));
        AttentionMasks {
            encoder: mask(&self.encoder),
            decoder: mask(&self.decoder),
            cross: mask(&self.cross),
        }
    }
}

impl GoldenMaps {
    /// Compares the weights of a layer for all queries that are not padding.
    fn check_layer(kind: &str, ours: Tensor<4>, theirs: &GoldenMap, is_real: &[Vec<bool>]) {
        assert_eq!(ours.dims(), theirs.shape, "{kind}");
        let [_, n_heads, n_queries, n_keys] = theirs.shape;
        let ours: Vec<f64> = ours.into_data().iter::<f64>().collect();
        let rows = ours.chunks(n_keys).zip(theirs.value.chunks(n_keys));
        for (index, (ours, theirs)) in rows.enumerate() {
            let row = index / (n_heads * n_queries);
            if is_real[row][index % n_queries] {
                let found = relative_difference(ours, theirs, 1.0);
                assert!(found < tolerances().weights, "{kind} {index}: {found:e}");
            }
        }
    }
}

impl Golden {
    pub(crate) fn read(json: &str) -> Self {
        serde_json::from_str(json).expect("the generator writes the fields above")
    }

    /// Builds the model with PyTorch's weights.
    pub(crate) fn model(&self) -> Transformer {
        let model = random_model(&self.config, 1);
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
    fn forward(&self, model: &Transformer, maps: Option<&mut AttentionMaps>) -> Tensor<3> {
        let device = model.device();
        let inputs: Vec<Vec<u32>> = self
            .tgt
            .iter()
            .map(|row| row[..row.len() - 1].to_vec())
            .collect();
        let masks = self.masks.on(&device);
        let src = Padded::new(&self.src, &device);
        model.forward_with(&src, tgt_ids(&inputs, &device), &masks, maps)
    }

    /// Returns the gold token of every position, `None` for padding.
    fn labels(&self) -> Vec<Vec<Option<u32>>> {
        let tgt_len = self.tgt.iter().map(Vec::len).max().unwrap_or(0) - 1;
        let label = |row: &Vec<u32>| {
            (1..=tgt_len)
                .map(|position| row.get(position).copied())
                .collect()
        };
        self.tgt.iter().map(label).collect()
    }

    fn loss(&self) -> Labels {
        let vocab = self.config.tgt_vocab_size;
        Labels::new(&self.labels(), vocab, self.label_smoothing)
    }

    fn check_logits(&self) {
        let logits = self.forward(&self.model(), None);
        let vocab = self.config.tgt_vocab_size;
        let all: Vec<f64> = logits.clone().into_data().iter::<f64>().collect();
        let real = all
            .chunks(vocab)
            .zip(self.labels().concat())
            .filter(|(_, label)| label.is_some())
            .flat_map(|(row, _)| row.to_vec());
        let found = relative_difference(&real.collect::<Vec<_>>(), &self.logits.concat(), 1.0);
        assert!(found < tolerances().logits, "{found:e}");
        let loss = self.loss().value(logits);
        assert!(
            (loss - self.loss).abs() < tolerances().logits,
            "{loss} instead of {}",
            self.loss
        );
    }

    fn check_maps(&self) {
        let mut maps = AttentionMaps::default();
        let _ = self.forward(&self.model(), Some(&mut maps));
        let longest = self.src.iter().map(Vec::len).max().unwrap_or(0);
        let is_token = |row: &Vec<u32>| (0..longest).map(|position| position < row.len()).collect();
        let src: Vec<Vec<bool>> = self.src.iter().map(is_token).collect();
        let is_label = |row: Vec<Option<u32>>| row.iter().map(Option::is_some).collect();
        let tgt: Vec<Vec<bool>> = self.labels().into_iter().map(is_label).collect();
        let kinds = [
            ("encoder", maps.encoder, &self.maps.encoder, &src),
            ("decoder", maps.decoder, &self.maps.decoder, &tgt),
            ("cross", maps.cross, &self.maps.cross, &tgt),
        ];
        for (kind, ours, theirs, is_real) in kinds {
            assert!(!theirs.is_empty(), "the fixture has no maps");
            assert_eq!(ours.len(), theirs.len(), "{kind}");
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                GoldenMaps::check_layer(kind, ours, theirs, is_real);
            }
        }
    }

    fn check_gradients(&self) {
        for (name, error) in self.gradient_errors(&self.model().train()) {
            assert!(error < tolerances().gradients, "{name}: {error:e}");
        }
    }

    /// Returns the largest relative error in the gradient of each parameter.
    pub(crate) fn gradient_errors(&self, model: &Transformer) -> BTreeMap<&str, f64> {
        let loss = self.loss().loss(self.forward(model, None));
        let ours = gradients(model, &GradientsParams::from_grads(loss.backward(), model));
        let largest = self
            .parameters
            .values()
            .flat_map(|parameter| &parameter.gradient)
            .fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        let errors = self.parameters.iter().map(|(name, parameter)| {
            let actual: Vec<f64> = ours[name].values.iter().map(|g| f64::from(*g)).collect();
            let floor = NEGLIGIBLE * largest;
            (
                name.as_str(),
                relative_difference(&actual, &parameter.gradient, floor),
            )
        });
        errors.collect()
    }

    fn check_curve(&self) {
        let curve = self.curve.as_ref().expect("the fixture has a curve");
        let adam = AdamConfig::new().with_beta_1(0.9).with_beta_2(0.98);
        let mut adam = adam.with_epsilon(1e-9).init();
        let mut model = self.model().train();
        for (update, expected) in curve.losses.iter().enumerate() {
            let loss = self.loss().loss(self.forward(&model, None));
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            let loss: f64 = loss.into_scalar();
            let found = (loss - expected).abs() / expected;
            assert!(
                found < tolerances().curve,
                "update {update}: {loss} instead of {expected}"
            );
            model = adam.step(curve.learning_rate, model, gradients);
        }
    }
}

pub(crate) const ADDITIVE_MASKS_BIAS_FREE: &str =
    include_str!("../fixtures/additive_masks_bias_free.json");
pub(crate) const HEAD_WIDTHS_AND_WINDOWS: &str =
    include_str!("../fixtures/head_widths_and_windows.json");
pub(crate) const FAIRSEQ_SINUSOIDS: &str = include_str!("../fixtures/fairseq_sinusoids.json");
pub(crate) const RMS_NORMS: &str = include_str!("../fixtures/rms_norms.json");
pub(crate) const GATED_FEED_FORWARD: &str = include_str!("../fixtures/gated_feed_forward.json");
pub(crate) const MBART: &str = include_str!("../fixtures/mbart.json");
pub(crate) const POST_NORM_WITH_FINAL_NORMS: &str =
    include_str!("../fixtures/post_norm_with_final_norms.json");
pub(crate) const PAPER: &str = include_str!("../fixtures/paper.json");
pub(crate) const PRE_NORM_GELU: &str = include_str!("../fixtures/pre_norm_gelu.json");
pub(crate) const PRE_NORM_SILU_LEARNED: &str =
    include_str!("../fixtures/pre_norm_silu_learned.json");
pub(crate) const SSRU: &str = include_str!("../fixtures/ssru.json");

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
fn fifty_updates_of_the_papers_tied_model_are_those_of_pytorch() {
    Golden::read(PAPER).check_curve();
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

#[test]
fn the_maps_of_the_papers_tied_model_are_those_of_pytorch() {
    Golden::read(PAPER).check_maps();
}

#[test]
fn the_logits_with_additive_masks_and_without_biases_are_those_of_pytorch() {
    Golden::read(ADDITIVE_MASKS_BIAS_FREE).check_logits();
}

#[test]
fn the_gradients_with_additive_masks_and_without_biases_are_those_of_pytorch() {
    Golden::read(ADDITIVE_MASKS_BIAS_FREE).check_gradients();
}

#[test]
fn the_maps_with_additive_masks_and_without_biases_are_those_of_pytorch() {
    Golden::read(ADDITIVE_MASKS_BIAS_FREE).check_maps();
}

#[test]
fn the_logits_with_own_head_widths_and_windows_are_those_of_pytorch() {
    Golden::read(HEAD_WIDTHS_AND_WINDOWS).check_logits();
}

#[test]
fn the_gradients_with_own_head_widths_and_windows_are_those_of_pytorch() {
    Golden::read(HEAD_WIDTHS_AND_WINDOWS).check_gradients();
}

#[test]
fn the_maps_with_own_head_widths_and_windows_are_those_of_pytorch() {
    Golden::read(HEAD_WIDTHS_AND_WINDOWS).check_maps();
}

#[test]
fn the_logits_with_fairseqs_sinusoids_are_those_of_pytorch() {
    Golden::read(FAIRSEQ_SINUSOIDS).check_logits();
}

#[test]
fn the_gradients_with_fairseqs_sinusoids_are_those_of_pytorch() {
    Golden::read(FAIRSEQ_SINUSOIDS).check_gradients();
}

#[test]
fn the_logits_with_rms_norms_are_those_of_pytorch() {
    Golden::read(RMS_NORMS).check_logits();
}

#[test]
fn the_gradients_with_rms_norms_are_those_of_pytorch() {
    Golden::read(RMS_NORMS).check_gradients();
}

#[test]
fn the_logits_with_a_gate_are_those_of_pytorch() {
    Golden::read(GATED_FEED_FORWARD).check_logits();
}

#[test]
fn the_gradients_with_a_gate_are_those_of_pytorch() {
    Golden::read(GATED_FEED_FORWARD).check_gradients();
}

#[test]
fn the_logits_with_mbarts_embeddings_are_those_of_pytorch() {
    Golden::read(MBART).check_logits();
}

#[test]
fn the_gradients_with_mbarts_embeddings_are_those_of_pytorch() {
    Golden::read(MBART).check_gradients();
}

#[test]
fn the_logits_of_a_recurrent_decoder_are_those_of_pytorch() {
    Golden::read(SSRU).check_logits();
}

#[test]
fn the_gradients_of_a_recurrent_decoder_are_those_of_pytorch() {
    Golden::read(SSRU).check_gradients();
}
