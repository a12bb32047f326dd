//! The reading of weights: once, in the stored form, and refused if they do not belong to the model.

use std::fs;

use burn::module::Module;
use burn::tensor::Device;
use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::super::{
    DirectoryError, LoadError, ModelDirectory, ModelParts, Precision, StoredTensor, StoredTensors,
    Tokenizers,
};
use crate::config::TransformerConfig;
use crate::device;
use crate::model::Transformer;
use crate::text::{Tokenizer, TokenizerConfig};
use crate::weights::random_model;

const QUERY: &str = "encoder.layers.0.self_attention.query.weight";
const BIAS: &str = "encoder.layers.0.self_attention.query.bias";
const VOCABULARY: &str = "src_vocabulary.weight";

/// Returns a model of width 6, the size of its vocabulary, and its directory in this precision.
fn written(precision: Precision) -> (Transformer, usize, TempDir) {
    written_with(precision, |config| config)
}

/// Writes another config than that of the model.
fn written_with(
    precision: Precision,
    change: impl FnOnce(TransformerConfig) -> TransformerConfig,
) -> (Transformer, usize, TempDir) {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"]);
    let tokenizer = tokenizer.expect("there is text");
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 6,
        d_ff: 10,
        n_heads: 2,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let model = random_model(&config, &device(), 1);
    let weights = model.clone().into_record().into_bytes();
    let parts = ModelParts {
        config: &change(config),
        tokenizers: &Tokenizers::Joint(tokenizer),
        weights: &weights.expect("weights fit in memory"),
        training: json!({}),
    };
    let directory = tempdir().expect("the system has temporary directories");
    let written = match precision {
        Precision::F32 => ModelDirectory::write(&directory, &parts).map_err(Into::into),
        _ => {
            let full = tempdir().expect("the system has temporary directories");
            ModelDirectory::write(&full, &parts).expect("the directory is writable");
            let full = ModelDirectory::open(&full).expect("it was just written");
            full.write_quantized(&directory, precision).map(drop)
        }
    };
    written.expect("the directory is writable, and the values are small");
    (model, n_tokens, directory)
}

fn device() -> Device {
    device::choose(None).expect("there is a CPU").1
}

/// Returns the error of a model directory with another config.
fn refused(change: impl FnOnce(TransformerConfig) -> TransformerConfig) -> String {
    let (_, _, directory) = written_with(Precision::F32, change);
    let opened = ModelDirectory::open(&directory).expect("it was just written");
    let loaded = opened.load(&device());
    loaded.expect_err("the config has changed").to_string()
}

fn stored(directory: &TempDir) -> StoredTensors {
    let directory = ModelDirectory::open(directory).expect("it was just written");
    directory.stored_tensors().expect("it was just written")
}

fn floats(tensor: StoredTensor) -> Vec<f32> {
    tensor.into_floats().expect("it is a tensor of floats")
}

fn difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max)
}

#[test]
fn floats_are_those_of_the_model() {
    let (model, _, directory) = written(Precision::F32);
    let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
    let found = stored
        .take(QUERY, &[6, 6])
        .expect("the encoder has a layer");
    assert_eq!(
        floats(found),
        floats(of_model.take(QUERY, &[6, 6]).expect("as in the file"))
    );
}

#[test]
fn half_floats_are_converted() {
    let (model, _, directory) = written(Precision::F16);
    let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
    let [found, expected] = [&stored, &of_model].map(|tensors| {
        floats(
            tensors
                .take(QUERY, &[6, 6])
                .expect("the encoder has a layer"),
        )
    });
    // Half a unit in the last of 11 bits, of values below 1.
    assert!(difference(&found, &expected) <= 1.0 / 2048.0);
}

#[test]
fn integers_have_scales_by_column_and_in_vocabularies_by_row() {
    let (model, n_tokens, directory) = written(Precision::Int8);
    let (stored, of_model) = (stored(&directory), StoredTensors::of_model(&model));
    for (name, shape, is_vocabulary) in [(QUERY, [6, 6], false), (VOCABULARY, [n_tokens, 6], true)]
    {
        let found = stored.take(name, &shape).expect("every model has it");
        let StoredTensor::Int8 { values, scales } = found else {
            panic!("{name} {found:?}");
        };
        assert_eq!(scales.len(), shape[usize::from(!is_vocabulary)]);
        let scale = |index: usize| match is_vocabulary {
            true => scales[index / 6],
            false => scales[index % 6],
        };
        let values = values.iter().enumerate();
        let found: Vec<f32> = values
            .map(|(index, value)| f32::from(*value) * scale(index))
            .collect();
        let original = floats(of_model.take(name, &shape).expect("as in the file"));
        let most = original
            .iter()
            .fold(0.0, |most: f32, value| most.max(value.abs()));
        // Half a scale, and the rounding of a division and a product.
        assert!(difference(&found, &original) <= most / 127.0 * 0.50001);
    }
}

#[test]
fn vectors_of_a_model_in_int8_are_floats() {
    let (_, _, directory) = written(Precision::Int8);
    let stored = stored(&directory);
    let bias = stored
        .take(BIAS, &[6])
        .expect("there are biases by default");
    assert!(matches!(bias, StoredTensor::F32(_)));
}

#[test]
fn a_missing_tensor_is_an_error_with_file_and_name() {
    let (_, _, directory) = written(Precision::F32);
    let error = stored(&directory).take("output_bias", &[5]).map(drop);
    let message = error
        .expect_err("there is no such bias by default")
        .to_string();
    assert!(
        message.contains("weights.bpk` has no tensor `output_bias`"),
        "{message}"
    );
}

#[test]
fn another_shape_is_an_error_with_file_and_name() {
    let (_, _, directory) = written(Precision::F32);
    let error = stored(&directory).take(QUERY, &[6, 8]).map(drop);
    let message = error.expect_err("it has 6 columns").to_string();
    assert!(
        message.starts_with(&format!("`{QUERY}` in `"))
            && message.contains(
                "weights.bpk` has the shape [6, 6], and in the model of config.json [6, 8]"
            ),
        "{message}"
    );
}

#[test]
fn a_tensor_that_is_not_used_is_an_error_with_file_and_name() {
    let (_, _, directory) = written(Precision::F32);
    let message = stored(&directory)
        .check_all_taken()
        .expect_err("none is taken");
    let first = "decoder.layers.0.cross_attention.key.bias";
    assert!(
        message
            .to_string()
            .contains(&format!("weights.bpk` has a tensor `{first}`")),
        "{message}"
    );
    let stored = stored(&directory);
    stored.take(first, &[6]).expect("it was just named");
    let message = stored
        .check_all_taken()
        .expect_err("one is taken")
        .to_string();
    assert!(!message.contains(first), "{message}");
}

#[test]
fn tensors_in_another_precision_than_the_manifests_are_refused() {
    let (_, _, directory) = written(Precision::F16);
    let path = ModelDirectory::open(&directory).expect("it was just written");
    let path = path.path().join("manifest.json");
    let manifest = fs::read_to_string(&path).expect("it was just written");
    let manifest = manifest.replace("\"f16\"", "\"f32\"");
    let manifest = manifest.replace("\"format\": 2", "\"format\": 1");
    fs::write(&path, manifest).expect("it is writable");
    let opened = ModelDirectory::open(&directory).expect("f32 is a precision");
    let error = opened.stored_tensors().map(drop);
    assert!(matches!(
        error,
        Err(LoadError::Precision {
            precision: Precision::F32,
            ..
        })
    ));
}

#[test]
fn weights_that_changed_after_the_directory_was_opened_are_refused() {
    let (_, _, directory) = written(Precision::F32);
    let opened = ModelDirectory::open(&directory).expect("it was just written");
    let mut bytes = fs::read(opened.weights_path()).expect("it was just written");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(opened.weights_path(), bytes).expect("it is writable");
    assert!(matches!(opened.stored_tensors(), Err(LoadError::File(_))));
}

#[test]
fn a_loaded_model_has_the_values_and_ids_that_were_written() {
    let (model, _, directory) = written(Precision::F32);
    let opened = ModelDirectory::open(&directory).expect("it was just written");
    let loaded = opened.load(&device()).expect("it was just written");
    let bytes = |model: Transformer| model.into_record().into_bytes().ok();
    assert_eq!(bytes(loaded), bytes(model));
}

#[test]
fn a_model_with_one_more_parameter_is_refused() {
    let message = refused(|config| TransformerConfig {
        output_bias: true,
        ..config
    });
    assert!(
        message.contains("weights.bpk` has no tensor `output_bias`"),
        "{message}"
    );
}

#[test]
fn a_model_with_one_parameter_less_is_refused() {
    let message = refused(|config| TransformerConfig {
        attention_bias: false,
        ..config
    });
    assert!(
        message.contains("weights.bpk` has a tensor `decoder.layers.0.cross_attention.key.bias`"),
        "{message}"
    );
}

#[test]
fn a_model_of_another_width_is_refused() {
    let message = refused(|config| TransformerConfig { d_ff: 9, ..config });
    assert!(
        message.contains("has the shape [6, 10], and in the model of config.json [6, 9]"),
        "{message}"
    );
}

#[test]
fn open_with_refuses_damaged_weights_even_if_they_are_not_loaded() {
    let (_, _, directory) = written(Precision::F32);
    let opened = ModelDirectory::open(&directory).expect("it was just written");
    let path = opened.weights_path();
    let mut bytes = fs::read(&path).expect("it was just written");
    bytes[0] ^= 1;
    fs::write(&path, bytes).expect("it is writable");
    let opened = ModelDirectory::open_with(&directory, |_| Ok::<_, DirectoryError>(()));
    assert!(matches!(opened, Err(DirectoryError::Hash { path: found }) if found == path));
}

#[test]
fn weights_that_were_read_ahead_are_not_read_again() {
    let (_, _, directory) = written(Precision::F32);
    let load = |opened: &ModelDirectory| {
        let loaded = opened.load(&device())?;
        fs::remove_file(opened.weights_path()).expect("it is there");
        assert!(opened.load(&device()).is_err());
        Ok::<_, LoadError>(loaded)
    };
    assert!(ModelDirectory::open_with(&directory, load).is_ok());
}
