//! Models in reduced precision: smaller on disk, nearly the same logits, refused if damaged.

use std::fs;
use std::path::Path;

use burn::module::Module;
use burn::tensor::Tensor;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use transformer_core::directory::{FileEntry, ModelDirectory, ModelParts, Precision, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{LoadError, QuantizeError, Transformer, TransformerConfig};

use crate::model::{difference, forward, random_model, test_device};
use crate::weights::{Entry, rewrite, weights};

/// Relative rounding error of a 16-bit float: half a unit in the last of 11 significant bits.
const F16_ROUNDING: f32 = 1.0 / 2048.0;

/// The smallest 16-bit float with all of these bits; below it, units do not get smaller.
const F16_SMALLEST: f32 = 1.0 / 16_384.0;

/// Writes a model of unequal sizes, with random weights that `change` may replace.
fn written(change: impl FnMut(&str, Entry) -> Vec<f32>) -> (TempDir, Transformer) {
    let words = TokenizerConfig {
        kind: TokenizerKind::Char,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&words, ["a bad cab", "feed"]).expect("there is text");
    let n = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 24,
        d_ff: 40,
        n_heads: 3,
        n_encoder_layers: 1,
        n_decoder_layers: 2,
        ..TransformerConfig::tiny(n, n)
    };
    let model = rewrite(random_model(&config, 5), change);
    let record = model.clone().into_record().into_bytes();
    let parts = ModelParts {
        config: &config,
        tokenizers: &Tokenizers::Joint(tokenizer),
        weights: &record.expect("weights fit in memory"),
        training: json!({ "updates": 7 }),
    };
    let directory = tempdir().expect("the system has temporary directories");
    ModelDirectory::write(&directory, &parts).expect("the directory is writable");
    (directory, model)
}

fn unchanged(_: &str, entry: Entry) -> Vec<f32> {
    entry.values
}

fn open(path: impl AsRef<Path>) -> ModelDirectory {
    ModelDirectory::open(path).expect("the directory holds a model")
}

/// Returns the model before and after quantization.
fn quantized(precision: Precision) -> (Transformer, Transformer, TempDir) {
    let (directory, model) = written(unchanged);
    let out = tempdir().expect("the system has temporary directories");
    let written = open(&directory).write_quantized(&out, precision);
    written.expect("the values are small");
    let back = open(&out).load(&test_device());
    (model, back.expect("it was just written"), out)
}

fn logits(model: &Transformer) -> Tensor<3> {
    let src = [vec![4, 7, 5, 9, 3], vec![8, 3]];
    let tgt = [vec![2, 5, 6], vec![2, 9, 4]];
    forward(model, &src, &tgt)
}

/// Training may replace the files while somebody translates with the model.
#[test]
fn a_loaded_model_does_not_need_its_files() {
    let (directory, model) = written(unchanged);
    let loaded = open(&directory).load(&test_device());
    drop(directory);
    let loaded = loaded.expect("it was just written");
    assert!(difference(logits(&loaded), logits(&model)) < 1e-6);
}

#[test]
fn weights_that_changed_after_the_directory_was_opened_are_refused() {
    let (directory, _) = written(unchanged);
    let opened = open(&directory);
    let path = opened.weights_path();
    let mut bytes = fs::read(&path).expect("the weights are there");
    *bytes.last_mut().expect("there are weights") ^= 1;
    fs::write(&path, bytes).expect("the directory is writable");
    let error = opened.load(&test_device()).map(drop);
    let error = error.expect_err("one bit was flipped").to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
}

#[test]
fn the_error_of_a_16_bit_float_is_at_most_half_a_unit_in_the_last_place() {
    let (before, after, _) = quantized(Precision::F16);
    let after = weights(&after);
    for (name, entry) in weights(&before) {
        for (before, after) in entry.values.iter().zip(&after[&name].values) {
            let bound = before.abs().max(F16_SMALLEST) * F16_ROUNDING;
            assert!((before - after).abs() <= bound, "{name}");
        }
    }
}

#[test]
fn the_error_of_an_integer_is_at_most_half_its_channels_scale() {
    let (before, after, _) = quantized(Precision::Int8);
    let after = weights(&after);
    let mut n_matrices = 0;
    for (name, entry) in weights(&before) {
        let &[n_rows, n_columns] = &entry.shape[..] else {
            assert_eq!(entry.values, after[&name].values, "{name} is not a matrix");
            continue;
        };
        n_matrices += 1;
        let by_row = name.ends_with("vocabulary.weight");
        let n_channels = if by_row { n_rows } else { n_columns };
        let channel = |index: usize| {
            if by_row {
                index / n_columns
            } else {
                index % n_columns
            }
        };
        let mut largest = vec![0.0_f32; n_channels];
        for (index, value) in entry.values.iter().enumerate() {
            largest[channel(index)] = largest[channel(index)].max(value.abs());
        }
        for (index, (before, after)) in entry.values.iter().zip(&after[&name].values).enumerate() {
            // Half a scale, and the rounding of a division and a product.
            let bound = largest[channel(index)] / 127.0 * 0.50001;
            assert!((before - after).abs() <= bound, "{name}: {before} {after}");
        }
    }
    // One vocabulary, 4 + 2 in the encoder's layer, 8 + 2 in each of the decoder's.
    assert_eq!(n_matrices, 1 + 6 + 2 * 10);
}

#[test]
fn logits_stay_close() {
    let close = |precision| {
        let (before, after, _) = quantized(precision);
        difference(logits(&after), logits(&before))
    };
    // The errors of the weights are up to 2^-11 and 2^-8 of the largest; sums have 24 to 40 terms with errors of
    // both signs.
    let (f16, int8) = (close(Precision::F16), close(Precision::Int8));
    assert!(f16 > 0.0 && f16 < 0.005, "{f16:e}");
    assert!(int8 > f16 && int8 < 0.05, "{int8:e}");
}

#[test]
fn the_manifest_states_the_precision_in_a_format_that_older_programs_refuse() {
    let (_, _, out) = quantized(Precision::Int8);
    let manifest = open(&out).manifest().clone();
    assert_eq!(manifest.precision, Precision::Int8);
    assert_eq!(manifest.format, 2);
    assert_eq!(manifest.training, json!({ "updates": 7 }));
    let (original, _) = written(unchanged);
    let text = fs::read_to_string(original.path().join("manifest.json")).expect("it was written");
    let manifest: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(manifest["format"], 1);
    assert!(manifest.get("precision").is_none());
}

#[test]
fn weights_take_about_half_and_a_quarter_of_the_bytes() {
    // A larger model would come closer: names and scales are a smaller share of it.
    let bytes = |precision| {
        let (_, _, out) = quantized(precision);
        open(&out).manifest().files.weights.bytes
    };
    let (original, _) = written(unchanged);
    let original = open(&original).manifest().files.weights.bytes;
    assert!(bytes(Precision::F16) < original * 7 / 10);
    assert!(bytes(Precision::Int8) < bytes(Precision::F16));
}

#[test]
fn a_quantized_model_is_not_quantized_again() {
    let (_, _, out) = quantized(Precision::F16);
    let elsewhere = tempdir().expect("the system has temporary directories");
    let refused = open(&out).write_quantized(&elsewhere, Precision::Int8);
    assert!(matches!(
        refused,
        Err(QuantizeError::AlreadyQuantized {
            found: Precision::F16,
            ..
        })
    ));
}

#[test]
fn a_model_in_full_precision_is_never_replaced() {
    let (directory, _) = written(unchanged);
    let refused = open(&directory).write_quantized(&directory, Precision::Int8);
    assert!(matches!(refused, Err(QuantizeError::FullPrecision { .. })));
    assert_eq!(open(&directory).manifest().precision, Precision::F32);
}

#[test]
fn a_quantized_model_is_replaced_by_another() {
    let (directory, _) = written(unchanged);
    let (_, _, out) = quantized(Precision::F16);
    let written = open(&directory).write_quantized(&out, Precision::Int8);
    written.expect("no model in full precision is in the way");
    assert_eq!(open(&out).manifest().precision, Precision::Int8);
    assert!(open(&out).load(&test_device()).is_ok());
}

#[test]
fn a_value_out_of_the_range_of_16_bits_is_reported() {
    let name = "encoder.layers.0.feed_forward.inner.weight";
    let (directory, _) = written(|found, mut entry| {
        if found == name {
            entry.values[3] = -70_000.0;
        }
        entry.values
    });
    let out = tempdir().expect("the system has temporary directories");
    let refused = open(&directory).write_quantized(&out, Precision::F16);
    let message = refused
        .expect_err("the largest 16-bit float is 65504")
        .to_string();
    let expected = "has the value -70000, which f16 cannot hold; choose int8";
    assert!(
        message.contains(name) && message.ends_with(expected),
        "{message}"
    );
    assert!(
        open(&directory)
            .write_quantized(&out, Precision::Int8)
            .is_ok()
    );
}

#[test]
fn weights_of_another_precision_are_reported() {
    let (_, _, out) = quantized(Precision::F16);
    let path = out.path().join("manifest.json");
    let text = fs::read_to_string(&path).expect("it was written");
    let text = text.replace("\"f16\"", "\"int8\"");
    fs::write(&path, text).expect("the directory is writable");
    let refused = open(&out)
        .load(&test_device())
        .expect_err("they are not integers");
    assert!(matches!(
        refused,
        LoadError::Precision {
            precision: Precision::Int8,
            ..
        }
    ));
    assert!(refused.to_string().contains("weights.bpk"), "{refused}");
}

#[test]
fn integers_without_their_scales_are_reported() {
    let (_, _, out) = quantized(Precision::Int8);
    let path = open(&out).weights_path();
    let mut bytes = fs::read(&path).expect("it was written");
    // Another name of the same length, in the list of names at the front of the file.
    let (name, other) = (b"outer.weight.scales", b"outer.weight.stales");
    let start = bytes.windows(name.len()).position(|window| window == name);
    let start = start.expect("the matrix has scales");
    bytes[start..][..name.len()].copy_from_slice(other);
    fs::write(&path, &bytes).expect("the directory is writable");
    let mut manifest: Value = json_of(&out);
    manifest["files"]["weights"] = json!(FileEntry::new("weights.bpk", &bytes));
    fs::write(out.path().join("manifest.json"), manifest.to_string()).expect("it is writable");
    let refused = open(&out)
        .load(&test_device())
        .expect_err("scales are missing");
    assert!(refused.to_string().contains("outer.weight"), "{refused}");
}

fn json_of(directory: &TempDir) -> Value {
    let text = fs::read_to_string(directory.path().join("manifest.json"));
    serde_json::from_str(&text.expect("it was written")).expect("it is JSON")
}

#[test]
fn a_damaged_file_is_reported() {
    let (_, _, out) = quantized(Precision::Int8);
    let path = open(&out).weights_path();
    let mut bytes = fs::read(&path).expect("it was written");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).expect("the directory is writable");
    let message = ModelDirectory::open(&out)
        .expect_err("one bit was flipped")
        .to_string();
    assert!(
        message.contains("weights.bpk` does not match its SHA-256"),
        "{message}"
    );
}

#[test]
fn a_damaged_quantized_model_is_replaced() {
    let (directory, _) = written(unchanged);
    let (_, _, out) = quantized(Precision::Int8);
    fs::write(open(&out).weights_path(), "nothing").expect("the directory is writable");
    let written = open(&directory).write_quantized(&out, Precision::F16);
    written.expect("its manifest states a reduced precision");
    assert!(open(&out).load(&test_device()).is_ok());
}

#[test]
fn a_damaged_model_in_full_precision_is_never_replaced() {
    let (directory, _) = written(unchanged);
    let (damaged, _) = written(unchanged);
    fs::remove_file(open(&damaged).weights_path()).expect("the directory is writable");
    let refused = open(&directory).write_quantized(&damaged, Precision::F16);
    assert!(matches!(refused, Err(QuantizeError::FullPrecision { .. })));
}

#[test]
fn the_folder_of_a_run_without_a_model_is_refused() {
    let (directory, _) = written(unchanged);
    let run = tempdir().expect("the system has temporary directories");
    fs::write(run.path().join("experiment.toml"), "").expect("the directory is writable");
    let parts = ["model", "checkpoints"].map(|name| run.path().join(name));
    for path in [run.path(), &parts[0], &parts[1]] {
        let refused = open(&directory).write_quantized(path, Precision::F16);
        assert!(matches!(refused, Err(QuantizeError::Run { .. })));
    }
    assert!(!run.path().join("manifest.json").exists());
    assert!(!parts[0].exists() && !parts[1].exists());
}

#[test]
fn the_model_of_a_run_is_refused_as_a_model_in_full_precision() {
    let (run, _) = written(unchanged);
    fs::write(run.path().join("experiment.toml"), "").expect("the directory is writable");
    let refused = open(&run).write_quantized(&run, Precision::F16);
    assert!(matches!(refused, Err(QuantizeError::FullPrecision { .. })));
}

#[test]
fn a_quantized_model_in_a_nested_directory_is_replaced_there() {
    let (directory, _) = written(unchanged);
    let outer = tempdir().expect("the system has temporary directories");
    let inner = outer.path().join("model");
    let write = |path: &Path, precision| open(&directory).write_quantized(path, precision);
    assert_eq!(write(&inner, Precision::F16).ok(), Some(inner.clone()));
    assert_eq!(
        write(outer.path(), Precision::Int8).ok(),
        Some(inner.clone())
    );
    assert_eq!(open(&inner).manifest().precision, Precision::Int8);
    assert!(!outer.path().join("manifest.json").exists());
}

#[test]
fn a_config_with_more_parameters_than_bytes_is_refused_before_allocation() {
    let (directory, _) = written(unchanged);
    let path = directory.path().join("config.json");
    let mut config: Value =
        serde_json::from_slice(&fs::read(&path).expect("it was written")).expect("it is JSON");
    config["d_ff"] = json!(1 << 18);
    config["n_encoder_layers"] = json!(1000);
    fs::write(&path, config.to_string()).expect("it is writable");
    let mut manifest = json_of(&directory);
    let entry = FileEntry::new("config.json", config.to_string().as_bytes());
    manifest["files"]["config"] = json!(entry);
    fs::write(directory.path().join("manifest.json"), manifest.to_string())
        .expect("it is writable");
    let refused = open(&directory).load(&test_device());
    let message = refused
        .expect_err("the weights are of a small model")
        .to_string();
    assert!(
        message.contains("weights.bpk` has ") && message.contains(", too few for the "),
        "{message}"
    );
}
