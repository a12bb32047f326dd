//! `export` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use transformer_core::TransformerConfig;
use transformer_core::config::{NormPlacement, Positions};
use transformer_core::directory::{ModelDirectory, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig};

use crate::command::{model, stderr, stdout};
use crate::model::{LINES, test_device, write_directory};
use crate::weights::random_model;

fn export(model: &Path, format: &str, out: &Path) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(["export", "--format", format, "--model"])
        .arg(model)
        .arg("--out")
        .arg(out)
        .output();
    run.expect("cargo has built the program")
}

/// Writes a model of a changed config.
fn model_with(change: impl FnOnce(TransformerConfig) -> TransformerConfig) -> TempDir {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), LINES).expect("there are words");
    let vocab = tokenizer.vocab_size();
    let config = change(TransformerConfig {
        d_model: 16,
        d_ff: 32,
        n_heads: 2,
        ..TransformerConfig::tiny(vocab, vocab)
    });
    let model = random_model(&config, &test_device(), 1);
    let folder = tempfile::tempdir().expect("there is room");
    let tokenizers = Tokenizers::Joint(tokenizer);
    write_directory(folder.path(), &config, &model, &tokenizers);
    folder
}

fn json(folder: &Path, name: &str) -> Value {
    let json = fs::read(folder.join(name)).expect("it was exported");
    serde_json::from_slice(&json).expect("it is JSON")
}

#[test]
fn a_model_is_exported_to_transformers_with_its_search() {
    let model = model_with(|config| config);
    let out = model.path().join("out");
    let exported = export(model.path(), "hf-marian", &out);
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert_eq!(stdout(&exported), [out.display().to_string()]);
    // Settings without an equivalent are reported.
    let notes = stderr(&exported);
    assert!(
        notes.contains("note: the length penalty gnmt:0.6 is written as power:0.6"),
        "{notes}"
    );
    assert!(
        notes.contains("note: the limit of 1x+50 tokens is written as 511"),
        "{notes}"
    );
    assert!(
        notes.contains(
            "note: the rule `cut` at the length limit is not written: it is read back as `compete`"
        ),
        "{notes}"
    );
    let generation = json(&out, "generation_config.json");
    assert_eq!(
        generation["bad_words_ids"],
        serde_json::json!([[0], [2], [1]])
    );
    assert_eq!(generation["num_beams"], 4);
    // The number of positions of OPUS-MT models.
    assert_eq!(generation["max_length"], 512);
    assert_eq!(generation["forced_eos_token_id"], Value::Null);
    assert_eq!(generation["early_stopping"], false);
    assert_eq!(generation["renormalize_logits"], false);
    let config = json(&out, "config.json");
    assert_eq!(config["forced_eos_token_id"], Value::Null);
    assert_eq!(config["decoder_start_token_id"], 2);
}

#[test]
fn a_model_with_pre_norm_is_exported_as_pegasus() {
    let model = model_with(|config| TransformerConfig {
        norm_placement: NormPlacement::Pre,
        final_norm: true,
        ..config
    });
    let out = model.path().join("out");
    let exported = export(model.path(), "hf-pegasus", &out);
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert!(stderr(&exported).contains("note: the limit of 1x+50 tokens is written as 511"));
    assert_eq!(json(&out, "config.json")["model_type"], "pegasus");
    assert_eq!(json(&out, "generation_config.json")["num_beams"], 4);
    assert!(out.join("tokenizer.json").exists());
}

#[test]
fn a_model_is_exported_to_ctranslate2() {
    let (model, out) = (model(), model());
    let out = out.path().join("out");
    let exported = export(model.path(), "ctranslate2", &out);
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert!(out.join("model.bin").exists());
    let tokenizer = ModelDirectory::open(model.path()).expect("it is whole");
    let n_tokens = tokenizer.tokenizers().tgt().vocab_size();
    let vocabulary = ["shared_vocabulary.json", "target_vocabulary.json"];
    let vocabulary = vocabulary.iter().find(|name| out.join(name).exists());
    let tokens = json(&out, vocabulary.expect("one of them is written"));
    assert_eq!(tokens.as_array().map(Vec::len), Some(n_tokens));
}

#[test]
fn text_for_calibration_is_refused_where_no_format_reads_it() {
    let model = model();
    let out = model.path().join("out");
    let refused = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args([
            "export",
            "--format",
            "ctranslate2",
            "--calibrate",
            "train.en",
            "--model",
        ])
        .args([model.path(), Path::new("--out"), &out])
        .output()
        .expect("cargo has built the program");
    let message = stderr(&refused);
    assert!(
        message.contains("`--calibrate` is for `--format bergamot` only; leave it out"),
        "{message}"
    );
    assert!(!refused.status.success() && !out.exists());
}

#[test]
fn a_folder_with_files_is_refused() {
    let (model, out) = (model(), tempfile::tempdir().expect("there is room"));
    let before = fs::read(model.path().join("config.json")).expect("the model has one");
    let own = out.path().join("config.json");
    fs::write(&own, "mine").expect("there is room");
    let cases = [
        (
            model.path(),
            "is not empty; choose another folder, or replace",
        ),
        (
            out.path(),
            "is not empty; choose another folder, or replace",
        ),
        (own.as_path(), "is a file; give --out a folder"),
    ];
    for (folder, expected) in cases {
        let refused = export(model.path(), "safetensors", folder);
        assert!(stderr(&refused).contains(expected), "{}", stderr(&refused));
        assert!(!refused.status.success());
    }
    assert_eq!(fs::read(&own).ok(), Some(b"mine".to_vec()));

    let export_over = |folder: &Path| {
        Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
            .args([
                "export",
                "--format",
                "safetensors",
                "--overwrite",
                "--model",
            ])
            .args([model.path(), Path::new("--out"), folder])
            .output()
            .expect("cargo has built the program")
    };
    let refused = export_over(model.path());
    let expected = "has a manifest.json, as model directories have, and the export would damage one; choose another folder";
    assert!(
        stderr(&refused).trim_end().ends_with(expected),
        "{}",
        stderr(&refused)
    );
    let after = fs::read(model.path().join("config.json"));
    assert_eq!(after.ok(), Some(before));
    stdout(&export_over(out.path()));
    assert_eq!(json(out.path(), "config.json")["d_model"], 24);
}

#[test]
fn a_model_that_the_format_cannot_represent_is_refused_before_anything_is_written() {
    let model = model_with(|config| TransformerConfig {
        positions: Positions::Learned,
        ..config
    });
    let out = model.path().join("out");
    let refused = export(model.path(), "hf-marian", &out);
    assert_eq!(refused.status.code(), Some(1));
    let message = stderr(&refused);
    assert!(
        message.contains("but Marian's models support only "),
        "{message}"
    );
    assert!(!out.exists());
}
