//! Counts of parameters, tied parameters, and records of them.

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::store::ModuleRecord;
use burn::tensor::Tensor;
use proptest::prelude::*;
use transformer_core::config::{Positions, Tying};
use transformer_core::text::BOS;
use transformer_core::{Transformer, TransformerConfig};

use crate::loss::Labels;
use crate::model::{Batch, batches, configs, forward, random_model};
use crate::weights::{Entry, weights};

/// Two heads in layers of width 8 and 12: one encoder layer, two decoder layers.
///
/// An attention has four 8×8 matrices and their biases, 288 values; a feed-forward network 8·12 +
/// 12 + 12·8 + 8 = 212, a normalization 16. So an encoder layer has 288 + 212 + 2·16 = 532, a
/// decoder layer 2·288 + 212 + 3·16 = 836, and all three layers together [`LAYERS`].
pub(crate) fn small(tying: Tying) -> TransformerConfig {
    let src_vocab = if tying == Tying::All { 13 } else { 11 };
    TransformerConfig {
        d_model: 8,
        d_ff: 12,
        n_heads: 2,
        n_encoder_layers: 1,
        n_decoder_layers: 2,
        tying,
        dropout: 0.0,
        ..TransformerConfig::base(src_vocab, 13)
    }
}

const LAYERS: usize = 532 + 2 * 836;

fn count(config: &TransformerConfig) -> usize {
    random_model(config, 1).num_params()
}

#[test]
fn three_tied_matrices_count_once() {
    assert_eq!(count(&small(Tying::All)), LAYERS + 13 * 8);
}

#[test]
fn a_tied_decoder_has_two_vocabulary_matrices() {
    assert_eq!(count(&small(Tying::Decoder)), LAYERS + 11 * 8 + 13 * 8);
}

#[test]
fn an_untied_model_has_three_vocabulary_matrices() {
    assert_eq!(count(&small(Tying::None)), LAYERS + 11 * 8 + 2 * 13 * 8);
}

#[test]
fn head_widths_attention_biases_norms_and_positions_count_as_configured() {
    let config = TransformerConfig {
        n_heads: 3,
        d_k: Some(5),
        d_v: Some(4),
        attention_bias: false,
        final_norm: true,
        positions: Positions::Learned,
        max_positions: 7,
        ..small(Tying::All)
    };
    // Without biases; a decoder layer has two attentions and three normalizations.
    let attentions = (1 + 2 * 2) * (2 * 8 * 15 + 2 * 8 * 12);
    let feed_forwards = (1 + 2) * 212;
    let norms = (2 + 2 * 3 + 2) * 16;
    let positions = 2 * 7 * 8;
    let expected = attentions + feed_forwards + norms + positions + 13 * 8;
    assert_eq!(count(&config), expected);
}

/// Trains on a batch with Adam, and returns the model before and after.
fn train(config: &TransformerConfig, n_steps: usize) -> (Transformer, Transformer) {
    let before = random_model(config, 5);
    let batch = Batch {
        src: vec![vec![4, 9, 10], vec![7]],
        tgt: vec![vec![BOS, 8, 5, 12], vec![BOS, 6, 11, 4]],
    };
    let labels = [[8, 5, 12, 3], [6, 11, 4, 3]].map(|row| row.map(Some).to_vec());
    let labels = Labels::new(&labels, 13, 0.1);
    let mut optimizer = AdamConfig::new().init();
    let mut model = before.clone().train();
    for _ in 0..n_steps {
        let loss = labels.loss(forward(&model, &batch.src, &batch.tgt));
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.01, model, gradients);
    }
    (before, model.valid())
}

fn matrix(weight: Tensor<2>) -> Entry {
    Entry {
        shape: weight.dims().to_vec(),
        values: weight.into_data().iter::<f32>().collect(),
    }
}

// Copies of a parameter would differ from the second step on: Adam updates only the first.
#[test]
fn three_tied_matrices_are_one_after_training() {
    let (before, after) = train(&small(Tying::All), 3);
    let names = weights(&after);
    assert_eq!(
        matrix(after.output_weight()),
        names["src_vocabulary.weight"]
    );
    assert_ne!(
        after.output_weight().into_data(),
        before.output_weight().into_data()
    );
    assert!(!names.contains_key("tgt_vocabulary.weight") && !names.contains_key("output.weight"));
}

#[test]
fn a_tied_decoder_has_one_matrix_after_training() {
    let (before, after) = train(&small(Tying::Decoder), 3);
    let names = weights(&after);
    assert_eq!(
        matrix(after.output_weight()),
        names["tgt_vocabulary.weight"]
    );
    assert_ne!(
        after.output_weight().into_data(),
        before.output_weight().into_data()
    );
    assert!(!names.contains_key("output.weight"));
}

// Except the keys' biases: they add the same to all scores of a query, which does not change the
// softmax.
#[test]
fn training_changes_every_parameter() {
    let (before, after) = train(&small(Tying::None), 1);
    let (before, after) = (weights(&before), weights(&after));
    let unchanged: Vec<_> = before
        .iter()
        .filter(|(name, entry)| !name.ends_with("key.bias") && after[*name] == **entry)
        .collect();
    assert!(unchanged.is_empty(), "{unchanged:?}");
}

fn bits(model: &Transformer) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let entry = |(name, entry): (String, Entry)| {
        let bits = entry.values.iter().map(|value| value.to_bits());
        (name, entry.shape, bits.collect())
    };
    weights(model).into_iter().map(entry).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_formula_counts_the_parameters_of_the_module(config in configs()) {
        let model = random_model(&config, 1);
        prop_assert_eq!(config.parameter_count(), model.num_params());
    }

    #[test]
    fn a_record_in_bytes_restores_every_bit(config in configs(), batch in batches(), seed: u32) {
        let model = random_model(&config, seed);
        let bytes = model.clone().into_record().into_bytes().expect("weights fit in memory");
        let record = ModuleRecord::from_bytes(bytes).expect("the bytes were just written");
        let fresh = random_model(&config, seed.wrapping_add(1));
        let restored = fresh.try_load_record(record).expect("the record is of the same config");
        prop_assert_eq!(bits(&restored), bits(&model));
        prop_assert_eq!(
            forward(&restored, &batch.src, &batch.tgt).into_data(),
            forward(&model, &batch.src, &batch.tgt).into_data()
        );
    }
}

#[test]
fn a_record_of_another_config_is_rejected() {
    let record = random_model(&small(Tying::None), 3).into_record();
    let tied = random_model(&small(Tying::Decoder), 3);
    assert!(tied.try_load_record(record).is_err());
}

#[test]
fn sizes_beyond_the_limits_are_rejected_and_the_parameters_of_all_others_can_be_counted() {
    let features = 1 << 18;
    let largest = TransformerConfig {
        d_model: features,
        d_ff: features,
        n_heads: 1 << 12,
        d_k: Some(features),
        d_v: Some(features),
        n_encoder_layers: 1 << 10,
        n_decoder_layers: 1 << 10,
        positions: Positions::Learned,
        max_positions: 1 << 24,
        tying: Tying::None,
        ..TransformerConfig::base(1 << 24, 1 << 24)
    };
    assert_eq!(largest.validate(), Ok(()));
    // Nearly all of it is 12 times 2^48 in each of 2^10 pairs of layers.
    let most = largest.parameter_count() as f64;
    assert!(
        (most / (12.0 * 2_f64.powi(58)) - 1.0).abs() < 1e-3,
        "{most}"
    );
    for field in [
        "d_model",
        "d_ff",
        "n_heads",
        "d_k",
        "n_decoder_layers",
        "src_vocab_size",
    ] {
        let mut config = serde_json::to_value(&largest).expect("a config is JSON");
        config[field] = (u64::MAX >> 1).into();
        let config: TransformerConfig = serde_json::from_value(config).expect("it is a config");
        let message = config.validate().expect_err("it is too large").to_string();
        assert!(message.starts_with(&format!(
            "`{field}` is 9223372036854775807; choose at most "
        )));
    }
}
