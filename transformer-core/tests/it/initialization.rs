//! The weights before training: their distribution, which the config chooses.

use std::collections::BTreeMap;

use transformer_core::TransformerConfig;
use transformer_core::config::{Initialization, Positions};
use transformer_core::model::AttentionConfig;

use crate::model::test_device;
use crate::weights::{Entry, weights};

/// Returns the initial parameters of a model.
fn initial(initialization: Initialization) -> BTreeMap<String, Entry> {
    let config = TransformerConfig {
        d_model: 48,
        d_ff: 96,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        positions: Positions::Learned,
        max_positions: 70,
        initialization,
        ..TransformerConfig::tiny(90, 90)
    };
    #[expect(clippy::disallowed_methods, reason = "these are the weights to test")]
    let model = config.init(&test_device());
    weights(&model.expect("the config is valid"))
}

fn mean_and_std(values: &[f32]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / n;
    let squares = values
        .iter()
        .map(|value| (f64::from(*value) - mean).powi(2));
    (mean, (squares.sum::<f64>() / n).sqrt())
}

/// Asserts that values are from `N(0, std²)`, as far as their mean and standard deviation show it.
///
/// They are others in each run: the generator is that of all tests. Both are within seven of their standard errors, but
/// once in 10¹¹ times.
fn assert_normal(name: &str, values: &[f32], std: f64) {
    let (mean, found) = mean_and_std(values);
    let n = values.len() as f64;
    assert!(mean.abs() < 7.0 * std / n.sqrt(), "{name}: mean {mean}");
    let error = 7.0 * std / (2.0 * n).sqrt();
    assert!((found - std).abs() < error, "{name}: deviation {found}");
}

#[test]
fn berts_matrices_and_embeddings_are_drawn_with_deviation_0_02() {
    let parameters = initial(Initialization::Bert);
    let matrices = parameters.iter().filter(|(_, it)| it.shape.len() == 2);
    let mut n_found = 0;
    for (name, entry) in matrices {
        assert_normal(name, &entry.values, 0.02);
        n_found += 1;
    }
    // Three attentions, two feed-forward networks, one vocabulary, two tables of positions.
    assert_eq!(n_found, 3 * 4 + 2 * 2 + 1 + 2);
}

#[test]
fn berts_biases_are_0_and_its_gains_1() {
    let parameters = initial(Initialization::Bert);
    for (name, entry) in parameters.iter().filter(|(_, it)| it.shape.len() == 1) {
        let expected = if name.ends_with("gamma") { 1.0 } else { 0.0 };
        assert!(entry.values.iter().all(|it| *it == expected), "{name}");
    }
}

#[test]
fn xavier_matrices_are_uniform_within_the_bound_of_glorot_and_bengio() {
    let parameters = initial(Initialization::Xavier);
    let inner = &parameters["encoder.layers.0.feed_forward.inner.weight"];
    let bound = (6.0_f64 / (48.0 + 96.0)).sqrt();
    let largest = inner
        .values
        .iter()
        .fold(0.0, |max: f32, it| max.max(it.abs()));
    assert!(f64::from(largest) <= bound, "{largest}");
    // The standard deviation of a uniform distribution; that of 4608 values is within seven standard errors, 0.66%
    // each.
    let (_, found) = mean_and_std(&inner.values);
    let expected = bound / 3.0_f64.sqrt();
    assert!((found / expected - 1.0).abs() < 0.05, "{found}");
}

#[test]
fn a_single_attention_can_be_initialized_as_in_bert() {
    let config = AttentionConfig {
        initialization: Initialization::Bert,
        ..AttentionConfig::new(64, 4)
    };
    let parameters = weights(&config.init(&test_device()));
    assert_normal("query", &parameters["query.weight"].values, 0.02);
}

#[test]
fn a_config_of_before_the_setting_is_still_read() {
    let config = TransformerConfig::default();
    let mut json = serde_json::to_value(&config).expect("a config is JSON");
    let keys = json.as_object_mut().expect("a config is an object");
    let removed = keys.remove("initialization");
    assert_eq!(removed, Some("xavier".into()));
    let read: TransformerConfig = serde_json::from_value(json).expect("keys may be missing");
    assert_eq!(read, config);
}
