//! Import of BART: where its tokenizer is read, and what is refused. The tests of transformer-infer compare it with Hugging
//! Face's Transformers.

use std::fs;
use std::path::Path;

use crate::marian::{fixture, read, refusal, set};

#[test]
fn a_bart_whose_translations_do_not_begin_with_its_token_is_refused() {
    let folder = fixture("bart");
    set(
        folder.path(),
        "generation_config.json",
        "forced_bos_token_id",
        serde_json::Value::Null,
    );
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/config.json`: `forced_bos_token_id` is null, which cannot be imported; only 0, `<s>`, can"
    );
}

/// Reads a file of JSON in a folder.
fn json(folder: &Path, name: &str) -> serde_json::Value {
    let json = fs::read(folder.join(name)).expect("it is there");
    serde_json::from_slice(&json).expect("it is JSON")
}

#[test]
fn a_bart_with_a_single_file_of_the_tokenizer_is_the_same() {
    let folder = fixture("bart");
    let expected = read(folder.path()).tokenizers.src().to_json();
    let merges = folder.path().join("merges.txt");
    let text = fs::read_to_string(&merges).expect("it is there");
    // Transformers 4 wrote a merge as text, and Transformers 5 writes it as a pair.
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let pairs: Vec<Vec<&str>> = lines.iter().map(|it| it.split(' ').collect()).collect();
    let vocab = json(folder.path(), "vocab.json");
    for name in ["merges.txt", "vocab.json"] {
        fs::remove_file(folder.path().join(name)).expect("it was there");
    }
    for merges in [serde_json::json!(lines), serde_json::json!(pairs)] {
        let file = serde_json::json!({ "model": { "vocab": vocab, "merges": merges } });
        fs::write(folder.path().join("tokenizer.json"), file.to_string()).expect("there is room");
        assert_eq!(read(folder.path()).tokenizers.src().to_json(), expected);
    }
}

#[test]
fn a_bart_without_merges_is_refused() {
    let folder = fixture("bart");
    fs::remove_file(folder.path().join("merges.txt")).expect("it was there");
    let message = refusal(folder.path());
    assert!(
        message.starts_with("`FOLDER/merges.txt` is missing;"),
        "{message}"
    );
}

#[test]
fn a_space_is_put_first_if_the_tokenizer_says_so() {
    let folder = fixture("bart");
    let encode = |line: &str| read(folder.path()).tokenizers.src().encode(line);
    let (with, without) = (encode(" Where is it?"), encode("Where is it?"));
    assert_ne!(with, without);
    let config = "tokenizer_config.json";
    set(folder.path(), config, "add_prefix_space", true.into());
    assert_eq!(encode("Where is it?"), with);
}
