//! `quantize` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::tempdir;

use crate::command::{model, stderr, stdout, translate};
use crate::model::LINES;

fn run(command: &str, flags: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .arg(command)
        .args(flags)
        .output();
    run.expect("cargo has built the program")
}

fn quantize(model: &Path, out: &Path, precision: &str) -> Output {
    let text = |path: &Path| path.to_str().map(str::to_owned).expect("the path is UTF-8");
    let (model, out) = (text(model), text(out));
    run(
        "quantize",
        &["--model", &model, "--out", &out, "--precision", precision],
    )
}

#[test]
fn a_smaller_model_translates_every_line() {
    let (model, out) = (model(), model());
    let out = out.path().join("smaller");
    for precision in ["f16", "int8"] {
        let said = quantize(model.path(), &out, precision);
        assert!(stdout(&said)[0].contains(&format!("weights in {precision}, ")));
        let translated = translate(&out, &[], LINES.join("\n").as_bytes());
        let translated = stdout(&translated);
        assert_eq!(translated.len(), LINES.len());
        assert!(translated.iter().any(|line| !line.is_empty()));
        let path = out.to_str().expect("the path is UTF-8");
        let shown = run("inspect", &["--model", path, "--json"]);
        let shown: serde_json::Value =
            serde_json::from_str(&stdout(&shown).concat()).expect("it is JSON");
        assert_eq!(
            (&shown["format"], &shown["precision"]),
            (&2.into(), &precision.into())
        );
    }
}

#[test]
fn the_flag_precision_computes_as_the_smaller_model_does() {
    let (model, out) = (
        model(),
        tempdir().expect("a temporary directory can be created"),
    );
    let out = out.path().join("int8");
    assert!(quantize(model.path(), &out, "int8").status.success());
    let flags = ["--json", "--token-scores"];
    let translated = |model: &Path, more: &[&str]| {
        let flags = [&flags[..], more].concat();
        let output = translate(model, &flags, LINES.join("\n").as_bytes());
        stdout(&output).join("\n")
    };
    let int8 = translated(&out, &[]);
    assert_eq!(translated(model.path(), &["--precision", "int8"]), int8);
    assert_eq!(
        translated(&out, &["--precision", "int8", "--threads", "3"]),
        int8
    );
    let f32 = translated(model.path(), &[]);
    assert_eq!(
        translated(model.path(), &["--precision", "f32", "--threads", "1"]),
        f32
    );
    assert_ne!(f32, int8, "rounding changes scores");
    for path in [model.path(), &out] {
        let shown = run(
            "inspect",
            &["--model", path.to_str().expect("the path is UTF-8")],
        );
        let is_int8 = stdout(&shown).concat().contains("matrix products in int8");
        assert_eq!(is_int8, path == out);
    }
}

#[test]
fn threads_are_limited() {
    let model = model();
    for threads in ["0", "513"] {
        let refused = translate(model.path(), &["--threads", threads], b"bad\n");
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains("1..=512"), "{}", stderr(&refused));
    }
}

#[test]
fn a_model_is_not_written_over_itself() {
    let model = model();
    let refused = quantize(model.path(), model.path(), "int8");
    assert_eq!(refused.status.code(), Some(2));
    let expected =
        "holds a model in full precision, which would be replaced; choose another directory";
    assert!(
        stderr(&refused).trim_end().ends_with(expected),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn the_folder_of_a_run_is_refused() {
    let (model, run) = (
        model(),
        tempdir().expect("the system has temporary directories"),
    );
    fs::write(run.path().join("experiment.toml"), "").expect("the directory is writable");
    for out in [run.path().to_owned(), run.path().join("model")] {
        let refused = quantize(model.path(), &out, "f16");
        assert_eq!(refused.status.code(), Some(2));
        let expected = "is a folder of a training run; choose another folder";
        assert!(
            stderr(&refused).trim_end().ends_with(expected),
            "{}",
            stderr(&refused)
        );
    }
    assert!(!run.path().join("manifest.json").exists());
    assert!(!run.path().join("model").exists());
}

#[test]
fn a_model_is_not_quantized_twice() {
    let (model, out) = (model(), model());
    let (once, twice) = (out.path().join("once"), out.path().join("twice"));
    assert!(quantize(model.path(), &once, "f16").status.success());
    let refused = quantize(&once, &twice, "int8");
    assert_eq!(refused.status.code(), Some(2));
    let expected = "is stored in f16 already; give the model as it was trained";
    assert!(
        stderr(&refused).trim_end().ends_with(expected),
        "{}",
        stderr(&refused)
    );
    assert!(!twice.exists());
}
