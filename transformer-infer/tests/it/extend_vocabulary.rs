//! `extend-vocabulary` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use transformer_core::ModelDirectory;
use transformer_core::config::Tying;
use transformer_core::directory::Tokenizers;
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

use crate::command::{stderr, stdout, translate};
use crate::marian::fixture;
use crate::model::{random_model, write_directory};

const LINES: [&str; 6] = [
    "the patient has a rare disease of the heart",
    "the hospital treats the patients",
    "hospitals are rare",
    "cardiac arrest is not rare",
    "a cardiologist treats hearts",
    "a heart",
];

fn run(command: &str, flags: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .arg(command)
        .args(flags)
        .output();
    run.expect("cargo has built the program")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// A folder with a model in `model`.
fn model(kind: TokenizerKind) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory can be created");
    let config = TokenizerConfig {
        kind,
        vocab_size: 60,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&config, LINES).expect("the text has words");
    let (_, config, model) = random_model(tokenizer.vocab_size());
    assert_eq!(config.tying, Tying::All);
    let tokenizers = Tokenizers::Joint(tokenizer);
    write_directory(&folder.path().join("model"), &config, &model, &tokenizers);
    folder
}

fn extend(model: &Path, out: &Path, more: &[&str]) -> Output {
    let flags = ["--model", text(model), "--out", text(out)];
    run("extend-vocabulary", &[&flags[..], more].concat())
}

fn greedy(model: &Path, lines: &[&str]) -> Vec<String> {
    let translated = translate(model, &["--beam", "1"], lines.join("\n").as_bytes());
    stdout(&translated).into_iter().map(str::to_owned).collect()
}

#[test]
fn text_without_new_pieces_is_translated_as_before() {
    for kind in [
        TokenizerKind::Bpe,
        TokenizerKind::Unigram,
        TokenizerKind::Word,
    ] {
        let folder = model(kind);
        let (old, new) = (folder.path().join("model"), folder.path().join("new"));
        let said = extend(&old, &new, &["--symbols", "cardiomyopathy,tachycardia"]);
        assert!(said.status.success(), "{}", stderr(&said));
        let before = greedy(&old, &LINES);
        assert!(before.iter().any(|line| !line.is_empty()));
        assert_eq!(greedy(&new, &LINES), before, "{kind}");
    }
}

#[test]
fn an_extended_model_is_inspected_and_names_its_tokens() {
    let folder = model(TokenizerKind::Unigram);
    let (old, new) = (folder.path().join("model"), folder.path().join("new"));
    let pieces = folder.path().join("pieces.txt");
    fs::write(&pieces, "cardiomyopathy\n\ntachycardia\r\n").expect("there is room");
    let said = extend(&old, &new, &["--add", text(&pieces)]);
    let said = stdout(&said);
    assert!(said[0].starts_with("▁cardiomyopathy\t▁"), "{said:?}");
    assert!(said[1].starts_with("▁tachycardia\t"), "{said:?}");
    let n_before = ModelDirectory::open(&old).expect("it was written");
    let n_tokens = n_before.config().src_vocab_size + 2;
    let expected = format!("{n_tokens} source and {n_tokens} target tokens, 2 and 2 of them new");
    assert!(said[2].ends_with(&expected), "{said:?}");
    assert!(run("inspect", &["--model", text(&new)]).status.success());
    let new = ModelDirectory::open(&new).expect("it was written");
    assert_eq!(new.config().src_vocab_size, n_tokens);
}

#[test]
fn an_extended_marian_model_translates_as_before() {
    for name in ["shared", "separate"] {
        let marian = fixture(name);
        let (old, new) = (marian.path().join("old"), marian.path().join("new"));
        let flags = ["--from", text(marian.path()), "--out", text(&old)];
        assert!(run("import", &flags).status.success());
        let goldens = fs::read(marian.path().join("goldens.json")).expect("it is a fixture");
        let goldens: serde_json::Value = serde_json::from_slice(&goldens).expect("it is JSON");
        let lines = goldens["lines"].as_array().expect("it has lines");
        let lines: Vec<&str> = lines.iter().filter_map(|line| line.as_str()).collect();
        let said = extend(&old, &new, &["--symbols", "zyxwabc,Qqqqq"]);
        assert!(said.status.success(), "{}", stderr(&said));
        assert_eq!(greedy(&new, &lines), greedy(&old, &lines), "{name}");
        let extended = ModelDirectory::open(&new).expect("it was written");
        let src = extended.tokenizers().src();
        assert_eq!(src.encode("zyxwabc").len(), 1);
    }
}

#[test]
fn one_vocabulary_of_two_is_extended_on_request() {
    let marian = fixture("separate");
    let (old, new) = (marian.path().join("old"), marian.path().join("new"));
    let flags = ["--from", text(marian.path()), "--out", text(&old)];
    assert!(run("import", &flags).status.success());
    let said = extend(&old, &new, &["--symbols", "zyxwabc", "--side", "tgt"]);
    let said = stdout(&said).concat();
    assert!(said.contains("0 and 1 of them new"), "{said}");
    let folder = model(TokenizerKind::Bpe);
    let (old, new) = (folder.path().join("model"), folder.path().join("new"));
    let said = extend(&old, &new, &["--symbols", "zyxwabc", "--side", "src"]);
    assert!(stderr(&said).contains("share their vocabulary; leave --side out"));
}

#[test]
fn a_piece_that_cannot_be_added_is_named_with_its_line() {
    let folder = model(TokenizerKind::Bpe);
    let (old, new) = (folder.path().join("model"), folder.path().join("new"));
    let pieces = folder.path().join("pieces.txt");
    for (content, line, reason) in [
        ("new\nheart attack\n", 2, "is blank or has spaces"),
        ("heart\n", 1, "is already in the vocabulary, as `▁heart`"),
        ("\nnew\nolder\nnew\n", 4, "`new` is given twice"),
        ("C++\n", 1, "this tokenizer splits `C++` into `C`, `++`"),
    ] {
        fs::write(&pieces, content).expect("there is room");
        let said = extend(&old, &new, &["--add", text(&pieces)]);
        let message = stderr(&said);
        let expected = format!("pieces.txt`, line {line}: ");
        assert!(message.contains(&expected), "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!(message.lines().count(), 1);
        assert!(!new.exists());
    }
}

#[test]
fn a_model_in_reduced_precision_is_refused() {
    let folder = model(TokenizerKind::Bpe);
    let [old, small, new] = ["model", "small", "new"].map(|name| folder.path().join(name));
    let flags = [
        "--model",
        text(&old),
        "--out",
        text(&small),
        "--precision",
        "int8",
    ];
    assert!(run("quantize", &flags).status.success());
    let said = extend(&small, &new, &["--symbols", "new"]);
    assert!(
        stderr(&said).contains("is stored in int8"),
        "{}",
        stderr(&said)
    );
}

#[test]
fn a_folder_with_files_is_not_written() {
    let folder = model(TokenizerKind::Bpe);
    let old = folder.path().join("model");
    let said = extend(&old, &old, &["--symbols", "new"]);
    assert!(stderr(&said).contains("is not empty"), "{}", stderr(&said));
}
