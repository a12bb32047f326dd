//! Export to Pegasus models of Hugging Face's Transformers, which are pre-norm, and import from them. The tests of
//! transformer-infer compare imported models with that program.

use std::fs;
use std::path::Path;

use burn::tensor::{TensorData, Tolerance};
use serde::Deserialize;
use serde_json::Value;
use transformer_core::config::{NormPlacement, Positions, Preset, Tying};
use transformer_core::directory::Tokenizers;
use transformer_core::export::{to_marian, to_pegasus};
use transformer_core::import::marian::Generation;
use transformer_core::import::{Marian, Names, StateDict};
use transformer_core::text::{BOS, EOS, Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{Padded, Transformer, TransformerConfig};

use crate::marian::{fixture, read};
use crate::model::{random_model, test_device};

/// What Transformers computed.
#[derive(Deserialize)]
struct Goldens {
    src: Vec<Vec<u32>>,
    tgt: Vec<Vec<u32>>,
    /// `[sentence, tgt_len, vocab]`.
    logits: Vec<Vec<Vec<f32>>>,
}

/// Returns nine tokens: four special ones and five words.
fn tokenizers() -> Tokenizers {
    let words = TokenizerConfig {
        kind: TokenizerKind::Word,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&words, ["a dog runs", "a cat sleeps"]);
    Tokenizers::Joint(tokenizer.expect("there are words"))
}

/// The settings with which the generator made its model.
fn config() -> TransformerConfig {
    TransformerConfig {
        d_model: 12,
        d_ff: 10,
        n_heads: 3,
        n_encoder_layers: 1,
        n_decoder_layers: 2,
        norm_placement: NormPlacement::Pre,
        final_norm: true,
        positions: Positions::SinusoidalHalves,
        max_positions: 512,
        output_bias: true,
        ..TransformerConfig::tiny(9, 9)
    }
}

fn tensors(folder: &Path) -> StateDict {
    StateDict::read(folder.join("model.safetensors")).expect("it is whole")
}

/// Builds our model of the weights in a folder.
fn theirs(folder: &Path, config: &TransformerConfig) -> Transformer {
    let saved = tensors(folder);
    let mut dict = StateDict::default();
    for name in saved
        .names()
        .filter(|name| !name.contains("embed_positions"))
    {
        let renamed = match name {
            "model.shared.weight" => "model.encoder.embed_tokens.weight",
            "final_logits_bias" => "lm_head.bias",
            other => other,
        };
        let tensor = saved.tensor(name).expect("it has this name").clone();
        let tensor = match name {
            "final_logits_bias" => TensorData::new(
                tensor.iter::<f32>().collect(),
                [tensor.shape().num_elements()],
            ),
            _ => tensor,
        };
        dict.insert(renamed, tensor);
    }
    let model = dict.to_transformer(config, &Names::Marian, &test_device());
    model.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_model_computes_what_transformers_computes() {
    let folder = fixture("pegasus");
    let json = fs::read(folder.path().join("goldens.json")).expect("the generator wrote it");
    let goldens: Goldens = serde_json::from_slice(&json).expect("it has these fields");
    let model = theirs(folder.path(), &config());
    let device = test_device();
    let ids = |rows: &[Vec<u32>]| -> Vec<Vec<u32>> {
        let row = |row: &Vec<u32>| row.iter().copied().filter(|id| *id != 0).collect();
        rows.iter().map(row).collect()
    };
    let src = Padded::new(&ids(&goldens.src), &device);
    let tgt = Padded::new(&ids(&goldens.tgt), &device);
    let logits = model.forward(&src, tgt.ids()).into_data();
    let shape = logits.shape().clone();
    let expected: Vec<f32> = goldens.logits.into_iter().flatten().flatten().collect();
    let expected = TensorData::new(expected, shape);
    logits.assert_approx_eq::<f32>(&expected, Tolerance::absolute(1e-4));
}

#[test]
fn an_export_has_the_tensors_and_settings_that_transformers_saved() {
    let folder = fixture("pegasus");
    let out = tempfile::tempdir().expect("there is room");
    let model = theirs(folder.path(), &config());
    let exported = to_pegasus(
        out.path(),
        &model,
        &config(),
        &tokenizers(),
        &Generation::default(),
    );
    exported.expect("the settings are those of a Pegasus model");
    let (theirs, ours) = (tensors(folder.path()), tensors(out.path()));
    assert!(theirs.names().eq(ours.names()));
    for name in theirs.names() {
        let [theirs, ours] =
            [&theirs, &ours].map(|dict| dict.tensor(name).expect("it has this name"));
        match name.contains("embed_positions") {
            // Sines of two libraries.
            true => ours.assert_approx_eq::<f32>(theirs, Tolerance::absolute(1e-6)),
            false => assert_eq!(theirs, ours, "{name}"),
        }
    }
    let json = |folder: &Path| -> Value {
        let json = fs::read(folder.join("config.json")).expect("it is there");
        serde_json::from_slice(&json).expect("it is JSON")
    };
    let (theirs, ours) = (json(folder.path()), json(out.path()));
    let theirs = theirs.as_object().expect("settings have names");
    // We write none of these: Transformers takes its defaults, and `dtype` is named `torch_dtype` here.
    let left_out = [
        "decoder_layerdrop",
        "dtype",
        "encoder_layerdrop",
        "init_std",
        "transformers_version",
        "use_cache",
    ];
    for (key, value) in theirs
        .iter()
        .filter(|(key, _)| !left_out.contains(&key.as_str()))
    {
        assert_eq!(ours.get(key), Some(value), "{key}");
    }
    // Transformers leaves out `tie_word_embeddings`, a default; `torch_dtype` is the older name of its `dtype`.
    let ours = ours.as_object().expect("settings have names").keys();
    let more: Vec<&str> = ours
        .map(String::as_str)
        .filter(|key| !theirs.contains_key(*key))
        .collect();
    assert_eq!(more, ["tie_word_embeddings", "torch_dtype"]);
}

#[test]
fn interleaved_sinusoids_are_reordered_with_the_same_results() {
    let folder = fixture("pegasus");
    let interleaved = TransformerConfig {
        positions: Positions::Sinusoidal,
        ..config()
    };
    let model = theirs(folder.path(), &interleaved);
    let out = tempfile::tempdir().expect("there is room");
    let exported = to_pegasus(
        out.path(),
        &model,
        &interleaved,
        &tokenizers(),
        &Generation::default(),
    );
    exported.expect("the features can be reordered");
    let again = theirs(out.path(), &config());
    let device = test_device();
    let src = Padded::new(&[vec![5, 7, 4, 6, EOS], vec![8, EOS]], &device);
    let tgt = Padded::new(&[vec![BOS, 7, 4], vec![BOS, 5]], &device);
    let logits = |model: &Transformer| model.forward(&src, tgt.ids()).into_data();
    // Sums over 12 features in another order.
    logits(&again).assert_approx_eq::<f32>(&logits(&model), Tolerance::absolute(1e-4));
}

/// Checks that the weights of two models are the same.
fn check_equal(before: &Transformer, after: &Transformer) {
    let [before, after] = [before, after].map(StateDict::from_model);
    assert!(before.names().eq(after.names()));
    for name in before.names() {
        assert_eq!(before.tensor(name), after.tensor(name), "{name}");
    }
}

#[test]
fn a_model_that_was_trained_here_survives_a_round_trip() {
    let folder = tempfile::tempdir().expect("there is room");
    let model = random_model(&config(), 1);
    let generation = Generation {
        length_penalty: 0.5,
        ..Generation::default()
    };
    let exported = to_pegasus(folder.path(), &model, &config(), &tokenizers(), &generation);
    exported.expect("the settings are those of a Pegasus model");
    let again = read(folder.path());
    assert_eq!(again.config, config());
    assert_eq!(again.generation.length_penalty, 0.5);
    let line = "a dog sleeps";
    let ids = tokenizers().src().encode(line);
    assert_eq!(again.tokenizers.src().encode(line), ids);
    check_equal(&model, &again.model);
}

#[test]
fn an_imported_model_survives_a_round_trip() {
    let folder = fixture("pegasus_import");
    let imported = read(folder.path());
    let out = tempfile::tempdir().expect("there is room");
    let Marian {
        config,
        tokenizers,
        generation,
        model,
        ..
    } = &imported;
    let exported = to_pegasus(out.path(), model, config, tokenizers, generation);
    exported.expect("what came in can go out");
    let again = read(out.path());
    for line in [
        "Where is the railway station?",
        ">>deu<< Where is <mask_1>?",
    ] {
        let ids = tokenizers.src().encode(line);
        assert_eq!(again.tokenizers.src().encode(line), ids, "{line}");
    }
    let mask = again.tokenizers.tgt().id("<mask_1>");
    let mask = mask.expect("it is in the vocabulary");
    assert_eq!(again.tokenizers.tgt().decode(&[mask]), "");
    check_equal(model, &again.model);
}

#[test]
fn another_offset_than_that_of_the_model_is_refused() {
    let folder = fixture("pegasus_import");
    let path = folder.path().join("tokenizer_config.json");
    fs::write(path, r#"{"offset": 100}"#).expect("there is room");
    let refused = Marian::read(folder.path(), &test_device());
    let message = refused
        .expect_err("there are three more tokens")
        .to_string();
    assert!(
        message.ends_with(
            "has 435 tokens, but `vocab_size` in config.json is 438; take both from one model"
        ),
        "{message}"
    );
}

/// Exports a model of the config, and returns the message of the refusal.
fn refusal(config: &TransformerConfig, generation: &Generation) -> String {
    let model = random_model(config, 1);
    let folder = tempfile::tempdir().expect("there is room");
    let out = folder.path().join("out");
    let refused = to_pegasus(&out, &model, config, &tokenizers(), generation);
    assert!(!out.exists());
    refused
        .expect_err("the format has no such model")
        .to_string()
}

#[test]
fn unsupported_settings_are_refused() {
    let cases = [
        (
            TransformerConfig {
                norm_placement: NormPlacement::Post,
                ..config()
            },
            "`norm_placement` is post, but Pegasus models support only pre;",
        ),
        (
            TransformerConfig {
                tying: Tying::Decoder,
                ..config()
            },
            "`tying` is \"decoder\", but Pegasus models support only all, which needs a joint vocabulary;",
        ),
        (
            TransformerConfig {
                max_positions: usize::MAX,
                ..config()
            },
            "`max_positions` is too large for Pegasus models",
        ),
    ];
    for (config, start) in cases {
        let message = refusal(&config, &Generation::default());
        assert!(message.starts_with(start), "{message}");
    }
    let endless = Generation {
        max_len: Some(usize::MAX),
        ..Generation::default()
    };
    let message = refusal(&config(), &endless);
    assert!(
        message.starts_with("`max_len` is too large for Pegasus models"),
        "{message}"
    );
}

/// docs/translating.md names them.
#[test]
fn presets_can_be_exported_to_transformers() {
    let folder = tempfile::tempdir().expect("there is room");
    let exported = |preset: Preset| {
        // Small, with what decides about the export as the preset has it.
        let whole = preset.config(9, 9);
        let width = |width: Option<usize>| width.map(|_| 1);
        let config = TransformerConfig {
            d_model: 16,
            d_ff: 8,
            n_heads: whole.n_heads.min(8),
            d_k: width(whole.d_k),
            d_v: width(whole.d_v),
            n_encoder_layers: 1,
            n_decoder_layers: 1,
            ..whole
        };
        let model = random_model(&config, 1);
        let out = folder.path().join(preset.to_string());
        let generation = Generation::default();
        let formats = [
            to_marian(
                out.join("marian"),
                &model,
                &config,
                &tokenizers(),
                &generation,
            )
            .is_ok(),
            to_pegasus(
                out.join("pegasus"),
                &model,
                &config,
                &tokenizers(),
                &generation,
            )
            .is_ok(),
        ];
        (formats != [true, false]).then_some((preset, formats))
    };
    let others: Vec<(Preset, [bool; 2])> = Preset::ALL.into_iter().filter_map(exported).collect();
    let neither = [false, false];
    let expected = [
        (Preset::Numbers, neither),
        (Preset::Tiny, [false, true]),
        (Preset::BKeys16, neither),
        (Preset::BKeys32, neither),
        (Preset::ELearned, neither),
        (Preset::Pytorch, neither),
        (Preset::Annotated, neither),
        (Preset::BiasFree, neither),
        (Preset::FirefoxTiny, neither),
    ];
    assert_eq!(others, expected);
}
