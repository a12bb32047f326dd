//! Embeddings initialized from word vectors, and frozen embeddings.

use transformer_core::ModelDirectory;

use crate::workplace::{Workplace, test_device};

/// The word vector of the digit 1, which occurs on both sides of the corpus.
const VECTOR: [f32; 16] = [
    0.5, -0.25, 1.0, 0.0, -1.5, 2.0, 0.125, -0.5, 0.75, 0.25, -1.0, 1.25, -0.125, 0.375, 0.0, -2.0,
];

fn workplace(embeddings: &str) -> Workplace {
    let section = format!("[embeddings]\n{embeddings}\n\n[training]\n");
    let workplace = Workplace::with(&[("[training]\n", &section)]);
    let values = VECTOR.map(|value| value.to_string()).join(" ");
    workplace.write("vectors.txt", format!("1 {values}\nunknown {values}\n"));
    workplace
}

/// Returns the vector of the digit 1 in the source embedding of a trained model.
fn row(workplace: &Workplace, out: &str) -> Vec<f32> {
    let device = test_device();
    let directory = ModelDirectory::open(workplace.path(out)).expect("training wrote a model");
    let model = directory.load(&device).expect("the model is whole");
    let ids = directory.tokenizers().src().encode("1");
    assert_eq!(ids.len(), 1, "the tokenizer's tokens are characters");
    let embedding = model.src_embedding();
    let width = embedding.dims()[1];
    let row = embedding.narrow(0, ids[0] as usize, 1);
    assert_eq!(width, VECTOR.len());
    row.into_data().iter::<f32>().collect()
}

#[test]
fn a_frozen_embedding_keeps_its_word_vectors() {
    let workplace =
        workplace("src_word_vectors = \"vectors.txt\"\nrescale = false\nfreeze_src = true");
    let ended = workplace.train("run", &["--updates", "3"]);
    let expected = "source tokens have a word vector";
    assert!(ended.stdout.contains(expected), "{ended:?}");
    assert_eq!(row(&workplace, "run"), VECTOR);
}

#[test]
fn training_changes_embeddings_that_are_not_frozen() {
    let workplace = workplace("src_word_vectors = \"vectors.txt\"\nrescale = false");
    workplace.train("run", &["--updates", "3"]).lines();
    let row = row(&workplace, "run");
    assert_ne!(row, VECTOR);
    // Three updates of the warm-up change no weight by 0.1 or more.
    let near = row
        .iter()
        .zip(VECTOR)
        .all(|(after, before)| (after - before).abs() < 0.1);
    assert!(near, "{row:?}");
}

#[test]
fn word_vectors_are_rescaled_by_default() {
    let workplace = workplace("tgt_word_vectors = \"vectors.txt\"\nfreeze_tgt = true");
    workplace.train("run", &["--updates", "1"]).lines();
    // The vocabulary is joint: source and target embedding are the same matrix.
    let row = row(&workplace, "run");
    let rms = |row: &[f32]| (row.iter().map(|value| value * value).sum::<f32>() / 16.0).sqrt();
    assert!((rms(&row) - 0.25).abs() < 1e-6, "{row:?}");
    let factor = 0.25 / rms(&VECTOR);
    let is_scaled = row
        .iter()
        .zip(VECTOR)
        .all(|(value, original)| (value - original * factor).abs() < 1e-6);
    assert!(is_scaled, "{row:?}");
}

#[test]
fn word_vectors_of_another_width_are_refused_before_anything_is_written() {
    let workplace = workplace("src_word_vectors = \"narrow.txt\"");
    workplace.write("narrow.txt", "1 0.5 0.25\n");
    let ended = workplace.train("run", &[]);
    assert_eq!(
        ended.failure(),
        "the word vectors have 2 values, but `d_model` is 16; choose `d_model` = 2 or other vectors"
    );
    assert!(!workplace.path("run").exists());
}

#[test]
fn a_missing_file_of_word_vectors_is_named() {
    let ended = workplace("src_word_vectors = \"none.txt\"").train("run", &[]);
    let message = ended.failure();
    assert!(message.starts_with("cannot read `none.txt`"), "{message}");
}
