//! Length limits that exclude each other, as a user gives them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::command::{model, stderr, stdout};
use crate::options::refusal;

#[test]
fn length_limits_that_exclude_each_other_are_refused() {
    let model = model();
    let error = refusal(model.path(), &["--min-len", "50"], 2);
    assert_eq!(
        error,
        "error: `min_len` is 50 and `max_len` is 9, so no length is allowed; lower `min_len`, or raise `max_len`"
    );
    let flags = ["translate", "--min-len", "100000", "--model"];
    let output = run(&flags, model.path());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`min_len` is 100000 and `max_len` is 1x+50"));
    let output = run(&["translate", "--max-len", "0", "--model"], model.path());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("error: `max_len` is 0, so every translation is empty"));
}

/// Runs the program with a model as the last flag, and a line of text.
fn run(flags: &[&str], model: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(flags)
        .arg(model)
        .arg("bad")
        .output()
        .expect("cargo has built the program")
}

#[test]
fn a_minimum_above_the_limit_of_some_lines_is_lowered_with_one_warning() {
    let model = model();
    let flags = ["translate", "--min-len", "8", "--max-len", "2x", "--model"];
    let output = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(flags)
        .arg(model.path())
        .args(["a bad cab", "bad", "", "d"])
        .output()
        .expect("cargo has built the program");
    assert_eq!(stdout(&output).len(), 4);
    let warnings: Vec<&str> = stderr(&output)
        .lines()
        .filter(|line| line.starts_with("warning"))
        .collect();
    assert_eq!(
        warnings,
        [
            "warning: line 2: its translation should have at least 8 tokens, but the limit, or the model, allows 6; \
             lower --min-len, or raise --max-len (further lines like it are not listed)"
        ]
    );
}

#[test]
fn a_limit_that_allows_a_line_no_word_is_warned_of() {
    let model = model();
    let flags = ["translate", "--max-len", "0.3x", "--model"];
    let output = run(&flags, model.path());
    assert_eq!(stdout(&output), [""]);
    assert!(
        stderr(&output).contains("warning: line 1: its translation may have 0 tokens"),
        "{}",
        stderr(&output)
    );
}

/// Changes the search in the manifest of a model.
fn set_search(model: &Path, search: serde_json::Value) {
    let path = model.join("manifest.json");
    let text = fs::read_to_string(&path).expect("the model has a manifest");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    manifest["training"]["search"] = search;
    fs::write(&path, manifest.to_string()).expect("the directory is writable");
}

#[test]
fn a_search_in_a_manifest_that_is_not_valid_is_refused_with_the_file() {
    let model = model();
    let limit = |extra: usize| serde_json::json!({ "factor": 0.0, "extra": extra });
    set_search(
        model.path(),
        serde_json::json!({ "min_len": limit(7), "max_len": limit(5) }),
    );
    let error = refusal(model.path(), &[], 1);
    assert!(
        error.starts_with("error: `training.search` in `"),
        "{error}"
    );
    assert!(
        error.contains("manifest.json` is not a valid search"),
        "{error}"
    );
    assert!(error.ends_with("or raise `max_len`"), "{error}");
}

#[test]
fn a_limit_above_the_positions_of_the_model_is_warned_of_once() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    crate::model::write_model_with_positions(directory.path(), 12);
    let flags = ["translate", "--max-len", "40", "--min-len", "30", "--model"];
    let output = run(&flags, directory.path());
    assert_eq!(stdout(&output).len(), 1);
    let warnings = stderr(&output)
        .lines()
        .filter(|line| line.starts_with("warning"));
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(
        warnings[0],
        "warning: `max_len` is 40 or more, but the model has positions for 12 tokens; translations end there"
    );
    assert!(
        warnings[1]
            .contains("should have at least 30 tokens, but the limit, or the model, allows 12")
    );
}
