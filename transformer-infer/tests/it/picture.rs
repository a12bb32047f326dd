//! `transformer-infer attention` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::model::write_model;

fn model() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    write_model(directory.path());
    directory
}

/// Runs the program in a model's directory.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("cargo has built the program")
}

fn attention(directory: &Path, arguments: &[&str]) -> Output {
    run(
        directory,
        &[&["attention", "--model", "."], arguments].concat(),
    )
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("messages are UTF-8")
}

/// Checks that the program failed, and returns the last line, the error.
fn refusal(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    assert_eq!(output.stdout, b"");
    let last = stderr(output).lines().last().expect("a reason is given");
    assert!(last.starts_with("error: "), "{last}");
    last.to_owned()
}

#[test]
fn a_page_is_written_and_the_translation_printed() {
    let model = model();
    let output = attention(model.path(), &["--out", "a.html", "a bad cab"]);
    let translation = run(model.path(), &["translate", "--model", ".", "a bad cab"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, translation.stdout);
    let last = stderr(&output).lines().last().expect("the path is told");
    assert!(last.starts_with("a.html: "), "{last}");
    let page = fs::read_to_string(model.path().join("a.html")).expect("the page was written");
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("<title>Attention: a bad cab</title>"));
}

#[test]
fn a_figure_shows_the_selected_head() {
    let model = model();
    let draw = |head: &str| {
        let arguments = [
            "--out", "a.svg", "--layer", "2", "--head", head, "--tgt", "bad", "a cab",
        ];
        let output = attention(model.path(), &arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(output.stdout, b"bad\n");
        fs::read_to_string(model.path().join("a.svg")).expect("the figure was written")
    };
    let [first, second] = ["1", "2"].map(draw);
    assert!(first.starts_with("<svg ") && first.trim_end().ends_with("</svg>"));
    assert!(first.contains("<title>cross attention, layer 2, head 1: a cab</title>"));
    assert_ne!(first.replace("head 1", "head 2"), second);
}

#[test]
fn data_contain_all_weights_of_all_heads() {
    let model = model();
    let output = attention(model.path(), &["--out", "a.json", "--tgt", "bad", "a cab"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json = fs::read(model.path().join("a.json")).expect("the data were written");
    let data: serde_json::Value = serde_json::from_slice(&json).expect("the data are JSON");
    let count = |value: &serde_json::Value| value.as_array().map_or(0, Vec::len);
    let shape = |kind: &str| {
        let kind = &data[kind];
        [
            count(kind),
            count(&kind[0]),
            count(&kind[0][0]),
            count(&kind[0][0][0]),
        ]
    };
    assert_eq!(shape("encoder"), [2, 3, 6, 6]);
    assert_eq!(shape("decoder"), [3, 3, 4, 4]);
    assert_eq!(shape("cross"), [3, 3, 4, 6]);
    assert_eq!(data["src_tokens"][2]["text"], "c");
}

#[test]
fn an_unknown_extension_is_wrong_usage() {
    let output = run(
        Path::new("."),
        &["attention", "--model", "no-model", "--out", "a.png", "a"],
    );
    let expected = "error: `a.png` has no known extension; use .html for a page, .svg \
                    for a figure or .json for data";
    assert_eq!(refusal(&output, 2), expected);
}

#[test]
fn a_layer_that_does_not_exist_is_wrong_usage_and_writes_nothing() {
    let model = model();
    let output = attention(model.path(), &["--out", "a.html", "--layer", "4", "bad"]);
    let expected = "error: there is no layer 4 in cross attention; choose 1 to 3";
    assert_eq!(refusal(&output, 2), expected);
    assert!(!model.path().join("a.html").exists());
}

#[test]
fn a_page_of_another_program_is_kept() {
    let model = model();
    let path = model.path().join("a.html");
    fs::write(&path, "mine").expect("the temporary directory is writable");
    let output = attention(model.path(), &["--out", "a.html", "bad"]);
    let expected = "error: `a.html` exists and was not written by this command; remove it, or \
                    choose another name";
    assert_eq!(refusal(&output, 1), expected);
    assert_eq!(fs::read(&path).expect("it is there"), b"mine");
}

#[test]
fn a_page_of_this_command_is_replaced() {
    let model = model();
    for text in ["bad", "a cab"] {
        let output = attention(model.path(), &["--out", "a.html", text]);
        assert!(output.status.success(), "{}", stderr(&output));
        let page = fs::read_to_string(model.path().join("a.html")).expect("the page was written");
        assert!(page.contains(&format!("<title>Attention: {text}</title>")));
    }
}

#[test]
fn blank_text_is_an_error_of_one_line_and_exit_1() {
    let model = model();
    let output = attention(model.path(), &["--out", "a.html", " "]);
    let expected = "error: the text to translate is blank; give a line with at least one word";
    assert_eq!(refusal(&output, 1), expected);
}
