//! Import of multilingual models: where their languages are read, and what is refused. The tests of transformer-infer
//! compare them with Hugging Face's Transformers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use transformer_core::import::Marian;
use transformer_core::text::LanguageLayout;

use crate::marian::{fixture, read};
use crate::model::test_device;

const SPECIAL_TOKENS: &str = "special_tokens_map.json";

fn folder(name: &str) -> TempDir {
    fixture(&format!("../multilingual/{name}"))
}

/// Changes a key of a JSON file.
fn set(folder: &Path, file: &str, key: &str, value: Value) {
    let path = folder.join(file);
    let text = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
    let mut json: Value = serde_json::from_slice(&text).expect("it is JSON");
    json[key] = value;
    fs::write(path, json.to_string()).expect("there is room");
}

fn refusal(folder: &Path) -> String {
    let error = Marian::read(folder, &test_device()).expect_err("the folder is refused");
    error
        .to_string()
        .replace(&folder.display().to_string(), "FOLDER")
}

fn tokens(model: &Marian) -> Vec<String> {
    let languages = model.tokenizers.src().languages();
    let all = languages.expect("the model is multilingual").all();
    all.iter().map(|language| language.token.clone()).collect()
}

#[test]
fn languages_are_found_in_each_of_the_files() {
    let folder = folder("m2m100");
    let expected = tokens(&read(folder.path()));
    assert_eq!(expected.len(), 100);
    assert_eq!(expected[..2], ["__af__", "__am__"]);
    let first = {
        let vocab = fs::read(folder.path().join("vocab.json")).expect("the fixture has it");
        let vocab: Value = serde_json::from_slice(&vocab).expect("it is JSON");
        vocab.as_object().map_or(0, serde_json::Map::len)
    };
    fs::remove_file(folder.path().join(SPECIAL_TOKENS)).expect("the fixture has it");
    for (token, id) in expected.iter().zip(first..) {
        set(folder.path(), "added_tokens.json", token, json!(id));
    }
    assert_eq!(tokens(&read(folder.path())), expected);
    let added = expected.iter().zip(first..);
    let added = added.map(|(token, id)| json!({ "id": id, "content": token }));
    let added: Vec<Value> = added.collect();
    fs::remove_file(folder.path().join("added_tokens.json")).expect("it was written above");
    set(
        folder.path(),
        "tokenizer.json",
        "added_tokens",
        json!(added),
    );
    assert_eq!(tokens(&read(folder.path())), expected);
}

#[test]
fn a_folder_without_a_list_of_languages_is_refused() {
    let folder = folder("m2m100");
    fs::remove_file(folder.path().join(SPECIAL_TOKENS)).expect("the fixture has it");
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER` has no list of languages in tokenizer.json, tokenizer_config.json, added_tokens.json or \
         special_tokens_map.json; download these files too"
    );
}

#[test]
fn a_model_that_decodes_from_a_language_is_refused() {
    let folder = folder("mbart50");
    set(
        folder.path(),
        "config.json",
        "decoder_start_token_id",
        json!(215),
    );
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/config.json`: `decoder_start_token_id` is 215, which cannot be imported; only 2, the end token can"
    );
}

#[test]
fn a_vocabulary_of_another_size_is_refused() {
    let folder = folder("nllb");
    for size in [300, 1_000_000] {
        set(folder.path(), "config.json", "vocab_size", json!(size));
        let message = refusal(folder.path());
        let expected =
            format!("but `vocab_size` in config.json is {size}; take both from one model");
        assert!(message.ends_with(&expected), "{message}");
    }
}

#[test]
fn a_forced_first_token_is_the_default_target() {
    let folder = folder("mbart50");
    let pieces = read(folder.path()).tokenizers;
    let pieces = pieces.tgt().pieces().expect("it is SentencePiece's");
    let id = pieces.tokens().iter().position(|token| token == "fr_XX");
    set(
        folder.path(),
        "generation_config.json",
        "forced_bos_token_id",
        json!(id),
    );
    let languages = read(folder.path()).languages;
    assert_eq!(
        languages.tgt.map(|code| code.to_string()).as_deref(),
        Some("fr")
    );
    assert_eq!(languages.src, None);
}

#[test]
fn the_class_of_the_tokenizer_tells_the_layout() {
    use LanguageLayout::{SourceFirst, SourceLast, TargetFirst};
    let config = "tokenizer_config.json";
    let layout = |folder: &TempDir| {
        let tokenizers = read(folder.path()).tokenizers;
        tokenizers.src().languages().map(|it| it.layout())
    };
    let mbart = folder("mbart50");
    for (class, expected) in [
        (Value::Null, SourceFirst),
        (json!("MBart50TokenizerFast"), SourceFirst),
        (json!("MBartTokenizer"), SourceLast),
        (json!("MBartTokenizerFast"), SourceLast),
    ] {
        set(mbart.path(), config, "tokenizer_class", class);
        assert_eq!(layout(&mbart), Some(expected));
    }
    // Without its marker, SMALL-100 is the same as M2M-100.
    let small = folder("small100");
    fs::remove_file(small.path().join(config)).expect("the fixture has it");
    assert_eq!(layout(&small), Some(SourceFirst));
    fs::write(small.path().join("tokenization_small100.py"), "").expect("there is room");
    assert_eq!(layout(&small), Some(TargetFirst));
}

#[test]
fn pieces_beside_those_of_the_folder_are_refused() {
    let folder = folder("m2m100");
    let pieces = [folder.path().join("sentencepiece.bpe.model")];
    let found = Marian::read_with_pieces(folder.path(), &pieces, &test_device());
    let message = found.expect_err("they are not used").to_string();
    assert!(
        message.contains("has its own SentencePiece model; leave out --spm"),
        "{message}"
    );
}

#[test]
fn languages_are_no_text() {
    let folder = folder("m2m100");
    let model = read(folder.path());
    let tokenizer = model.tokenizers.src();
    let id = tokenizer.id("__de__").expect("the model has German");
    assert!(!tokenizer.encode("__de__ Haus __de__").contains(&id));
    let house = tokenizer.encode("Haus");
    let marked = [&[id], &house[..], &[id]].concat();
    assert_eq!(tokenizer.decode(&marked), "Haus");
}
