//! A Pegasus and a BART, imported and run as a user does; the expected ids, logits, translations and scores are those of
//! Hugging Face's Transformers (`transformer-core/tests/fixtures/marian/generate_pegasus_bart.py`).

use std::path::Path;

use tempfile::TempDir;

use crate::command::{stderr, stdout};
use crate::marian::unpack;
use crate::multilingual::{check_folder, check_logits, run, translator};

fn fixture(name: &str) -> TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../transformer-core/tests/fixtures");
    unpack(&fixtures.join("marian").join(name))
}

#[test]
fn pegasus_translates_as_transformers_does() {
    check_folder(fixture("pegasus_import").path());
    check_logits(fixture("pegasus_import").path());
}

#[test]
fn bart_translates_as_transformers_does() {
    check_folder(fixture("bart").path());
    check_logits(fixture("bart").path());
}

/// Imports a fixture with the program, and checks its translation of the line that starts like this.
fn check_program(name: &str, start: &str) {
    let folder = fixture(name);
    let (_, cases) = translator(folder.path());
    let case = cases.iter().find(|case| case.line.starts_with(start));
    let case = case.expect("the generator has such a line");
    let out = tempfile::tempdir().expect("there is room");
    let model = out.path().join("model").display().to_string();
    let from = folder.path().display().to_string();
    let output = run(&["import", "--from", &from, "--out", &model]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(&["translate", "--quiet", "--model", &model, &case.line]);
    assert_eq!(stdout(&output), [case.text.trim()], "{}", stderr(&output));
}

#[test]
fn an_export_of_a_bart_says_which_token_a_user_adds() {
    let folder = fixture("bart");
    let out = tempfile::tempdir().expect("there is room");
    let [model, exported] =
        ["model", "exported"].map(|name| out.path().join(name).display().to_string());
    let from = folder.path().display().to_string();
    let output = run(&["import", "--from", &from, "--out", &model]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(&[
        "export",
        "--format",
        "ctranslate2",
        "--model",
        &model,
        "--out",
        &exported,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let note = "note: sources and translations begin with <bos>, BART's `<s>`: add it before each source, and begin each \
                translation with it";
    assert!(
        stderr(&output).lines().any(|line| line == note),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_pegasus_that_was_written_reads_no_tags() {
    check_program("pegasus_import", ">>deu<<");
}

#[test]
fn a_bart_that_was_written_begins_with_its_own_token() {
    check_program("bart", "Good morning");
}
