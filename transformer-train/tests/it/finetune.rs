//! Runs that train a trained model further.

use std::fs;

use transformer_core::directory::ModelDirectory;

use crate::workplace::{Ended, Workplace};

/// A workplace with a trained model in `base`, and settings without a model or tokenizer in
/// `tune.toml`.
fn workplace() -> Workplace {
    Workplace::with_base("")
}

fn finetune(workplace: &Workplace, out: &str, more: &[&str]) -> Ended {
    let common = [
        "--config",
        "tune.toml",
        "--src",
        "a.src",
        "--tgt",
        "b.tgt",
        "--threads",
        "1",
    ];
    let from = ["--finetune", "base", "--out", out];
    workplace.run(&[&common[..], &from, more].concat())
}

fn config(workplace: &Workplace, out: &str) -> transformer_core::TransformerConfig {
    let directory = ModelDirectory::open(workplace.path(out)).expect("training wrote a model");
    directory.config().clone()
}

#[test]
fn a_run_starts_from_the_weights_tokenizers_and_shape_of_the_model() {
    let workplace = workplace();
    // Characters that the model never saw are unknown to it.
    workplace.write("a.src", "10a1\n11b\n1\n");
    workplace.write("b.tgt", "5x\n3y\n1\n");
    let unchanged = [
        "--set",
        "training.learning_rate_factor=1e-30",
        "--set",
        "data.valid_pairs=1",
    ];
    let dropout = ["--set", "model.dropout=0.25", "--updates", "2"];
    let ended = finetune(&workplace, "tuned", &[&unchanged[..], &dropout].concat());
    let expected = "finetuning  base: 1+1 layers, d_model 16";
    assert!(ended.lines().contains(&expected), "{ended:?}");
    assert!(workplace.weights("tuned") == workplace.weights("base"));
    let tokenizer = |out| workplace.read(&format!("{out}/model/tokenizer.json"));
    assert_eq!(tokenizer("tuned"), tokenizer("base"));
    let expected = transformer_core::TransformerConfig {
        dropout: 0.25,
        ..config(&workplace, "base")
    };
    assert_eq!(config(&workplace, "tuned"), expected);
}

#[test]
fn training_changes_the_weights_of_the_model() {
    let workplace = workplace();
    finetune(&workplace, "tuned", &[]).lines();
    assert!(workplace.weights("tuned") != workplace.weights("base"));
    assert!(workplace.translates("tuned"));
}

#[test]
fn a_run_resumes_without_the_model_it_started_from() {
    let workplace = workplace();
    finetune(&workplace, "whole", &["--updates", "40"]).lines();
    finetune(&workplace, "run", &["--updates", "20"]).lines();
    fs::remove_dir_all(workplace.path("base")).expect("it is there");
    workplace
        .run(&["--resume", "run", "--updates", "40"])
        .lines();
    assert!(workplace.weights("run") == workplace.weights("whole"));
}

#[test]
fn settings_that_the_model_fixes_are_refused_by_name() {
    let workplace = workplace();
    for setting in [
        "model.d_model=32",
        "embeddings.src_word_vectors=vectors.txt",
        "tokenizer.vocab_size=77",
    ] {
        let ended = finetune(&workplace, "tuned", &["--set", setting]);
        let (key, _) = setting.split_once('=').expect("it is a setting");
        let expected = format!(
            "`{key}` cannot be combined with `finetune.model`, which determines it; remove it"
        );
        assert_eq!(ended.failure(), expected);
    }
    // The tokenizer of the model has characters, and no merges.
    let ended = finetune(&workplace, "tuned", &["--set", "tokenizer.dropout=0.1"]);
    let message = ended.failure();
    assert!(
        message.starts_with("`tokenizer.dropout` cannot be combined with"),
        "{message}"
    );
}

/// The run would delete the weights before it reads them.
#[test]
fn a_run_does_not_replace_the_model_it_starts_from() {
    let workplace = workplace();
    let before = workplace.weights("base");
    for more in [&["--overwrite"][..], &["--overwrite", "--dry-run"]] {
        let ended = finetune(&workplace, "base", more);
        assert_eq!(
            ended.failure(),
            "`base` holds the model that is to be trained further, which the run would replace; choose another folder \
             with --out"
        );
    }
    assert!(workplace.weights("base") == before);
}

#[test]
fn a_missing_model_is_named() {
    let workplace = workplace();
    fs::remove_dir_all(workplace.path("base")).expect("it is there");
    let ended = finetune(&workplace, "tuned", &[]);
    assert!(ended.failure().contains("`base"), "{ended:?}");
    assert!(!workplace.path("tuned").exists());
}
