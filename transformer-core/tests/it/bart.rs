//! Import of BART: where its tokenizer is read, and what is refused. The tests of transformer-infer compare it with Hugging
//! Face's Transformers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::marian::{fixture, read, refusal, set};

#[test]
fn a_bart_whose_translations_do_not_begin_with_its_token_is_refused() {
    let folder = fixture("bart");
    set(
        folder.path(),
        "generation_config.json",
        "forced_bos_token_id",
        Value::Null,
    );
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/config.json`: `forced_bos_token_id` is null, which cannot be imported; only 0, `<s>`, can"
    );
}

#[test]
fn a_minimum_length_of_null_is_none() {
    let folder = fixture("bart");
    assert_eq!(read(folder.path()).generation.min_len, 5);
    let file = "generation_config.json";
    set(folder.path(), file, "min_length", Value::Null);
    assert_eq!(read(folder.path()).generation.min_len, 0);
}

/// Reads a file of JSON in a folder.
fn read_json(folder: &Path, name: &str) -> Value {
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
    let mut file = whole_tokenizer(folder.path());
    let split = file["pre_tokenizer"].clone();
    for (merges, split) in [
        (json!(lines), split.clone()),
        (
            json!(pairs),
            json!({ "type": "Sequence", "pretokenizers": [split] }),
        ),
    ] {
        file["model"]["merges"] = merges;
        file["pre_tokenizer"] = split;
        write_tokenizer(folder.path(), &file);
        assert_eq!(read(folder.path()).tokenizers.src().to_json(), expected);
    }
}

/// Replaces the files of the tokenizer with a `tokenizer.json`, and returns its content.
fn whole_tokenizer(folder: &Path) -> Value {
    let merges = fs::read_to_string(folder.join("merges.txt")).expect("it is there");
    let merges: Vec<&str> = merges.lines().skip(1).collect();
    let vocab = read_json(folder, "vocab.json");
    for name in ["merges.txt", "vocab.json"] {
        fs::remove_file(folder.join(name)).expect("it was there");
    }
    let split = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    let file = json!({
        "added_tokens": [{ "id": vocab["<mask>"], "content": "<mask>", "special": true }],
        "normalizer": null,
        "pre_tokenizer": split,
        "model": { "type": "BPE", "vocab": vocab, "merges": merges },
    });
    write_tokenizer(folder, &file);
    file
}

fn write_tokenizer(folder: &Path, file: &Value) {
    fs::write(folder.join("tokenizer.json"), file.to_string()).expect("there is room");
}

#[test]
fn a_tokenizer_of_another_kind_is_refused() {
    let folder = fixture("bart");
    let file = whole_tokenizer(folder.path());
    let digits = json!({ "type": "Sequence", "pretokenizers": [{ "type": "Digits" }, file["pre_tokenizer"]] });
    let unlike_gpt = json!({ "type": "ByteLevel", "add_prefix_space": false, "use_regex": false });
    for (pointer, value, expected) in [
        (
            "/model/type",
            json!("Unigram"),
            "`model.type` is \"Unigram\", which cannot be imported; only BPE can",
        ),
        (
            "/normalizer",
            json!({ "type": "NFC" }),
            "`normalizer` is \"NFC\", which cannot be imported; only null can",
        ),
        (
            "/pre_tokenizer",
            digits,
            "`pre_tokenizer` is \"Sequence\", which cannot be imported; only ByteLevel can",
        ),
        (
            "/pre_tokenizer",
            Value::Null,
            "`pre_tokenizer` is null, which cannot be imported; only ByteLevel can",
        ),
        (
            "/pre_tokenizer",
            unlike_gpt,
            "`use_regex` is false, which cannot be imported; only true can",
        ),
    ] {
        let mut changed = file.clone();
        *changed.pointer_mut(pointer).expect("the file has it") = value;
        write_tokenizer(folder.path(), &changed);
        let message = refusal(folder.path());
        assert_eq!(message, format!("`FOLDER/tokenizer.json`: {expected}"));
    }
}

#[test]
fn the_mask_may_lack_a_row_as_in_published_models() {
    let folder = fixture("bart");
    // The model has 422 rows.
    for (token, id) in [("madeupword0000", 420), ("madeupword0001", 421)] {
        set(folder.path(), "vocab.json", token, id.into());
    }
    set(folder.path(), "vocab.json", "<mask>", 422.into());
    let tokenizers = read(folder.path()).tokenizers;
    assert_eq!(tokenizers.src().vocab_size(), 423);
    assert_eq!(tokenizers.src().id("madeupword0001"), Some(422));
    assert_eq!(tokenizers.src().id("<mask>"), None);

    let vocab = read_json(folder.path(), "vocab.json").to_string();
    let vocab = vocab.replace("<mask>", "<other>");
    fs::write(folder.path().join("vocab.json"), vocab).expect("there is room");
    let message = refusal(folder.path());
    assert!(
        message.contains("has 423 tokens, but `vocab_size` in config.json is 422"),
        "{message}"
    );
}

#[test]
fn tokens_outside_of_the_vocabulary_are_refused() {
    let rest =
        "adds the token `<extra>`; a BART with tokens outside of its vocabulary cannot be imported";
    let folder = fixture("bart");
    let path = folder.path().join("added_tokens.json");
    fs::write(&path, r#"{"<extra>": 421}"#).expect("there is room");
    assert_eq!(
        refusal(folder.path()),
        format!("`FOLDER/added_tokens.json` {rest}")
    );

    fs::remove_file(&path).expect("it was there");
    let mut file = whole_tokenizer(folder.path());
    file["added_tokens"] = json!([{ "id": 421, "content": "<extra>" }]);
    write_tokenizer(folder.path(), &file);
    assert_eq!(
        refusal(folder.path()),
        format!("`FOLDER/tokenizer.json` {rest}")
    );
}

#[test]
fn rows_without_a_token_have_no_text() {
    let tokenizers = read(fixture("bart").path()).tokenizers;
    let [word, row] = ["ie", "madeupword421"].map(|it| tokenizers.tgt().id(it));
    let [word, row] = [word, row].map(|id| id.expect("it is in the vocabulary"));
    assert_eq!(tokenizers.tgt().decode(&[row, word, row]), "ie");
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
    set(folder.path(), config, "add_prefix_space", Value::Null);
    assert_eq!(encode("Where is it?"), without);

    let mut file = whole_tokenizer(folder.path());
    file["pre_tokenizer"]["add_prefix_space"] = true.into();
    write_tokenizer(folder.path(), &file);
    assert_eq!(encode("Where is it?"), with);
    set(folder.path(), config, "add_prefix_space", false.into());
    assert_eq!(encode("Where is it?"), without);
}
