//! A Pegasus model, imported and run as a user does; the expected ids, logits, translations and scores are those of Hugging
//! Face's Transformers (`transformer-core/tests/fixtures/marian/generate_pegasus_import.py`).

use std::path::Path;

use tempfile::TempDir;

use crate::command::{stderr, stdout};
use crate::marian::unpack;
use crate::multilingual::{check_folder, check_logits, run, translator};

fn fixture() -> TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../transformer-core/tests/fixtures");
    unpack(&fixtures.join("marian/pegasus_import"))
}

#[test]
fn ids_translations_and_scores_are_those_of_transformers() {
    check_folder(fixture().path());
}

#[test]
fn logits_are_those_of_transformers() {
    check_logits(fixture().path());
}

#[test]
fn a_model_that_was_written_reads_no_tags() {
    let folder = fixture();
    let (_, cases) = translator(folder.path());
    let case = cases.iter().find(|case| case.line.starts_with(">>deu<<"));
    let case = case.expect("the generator has such a line");
    let out = tempfile::tempdir().expect("there is room");
    let model = out.path().join("model").display().to_string();
    let from = folder.path().display().to_string();
    let output = run(&["import", "--from", &from, "--out", &model]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(&["translate", "--quiet", "--model", &model, &case.line]);
    assert_eq!(stdout(&output), [case.text.as_str()], "{}", stderr(&output));
}
