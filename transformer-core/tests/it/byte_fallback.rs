//! Imported SentencePiece models that write unknown characters as bytes, compared with SentencePiece.

use serde_json::Value;
use transformer_core::text::Tokenizer;

/// Returns SentencePiece's models, and how it splits and joins lines.
fn models() -> Vec<(Value, Tokenizer)> {
    let file = include_str!("../fixtures/byte_fallback.json");
    let models: Vec<Value> = serde_json::from_str(file).expect("the fixture is JSON");
    let read = |model: Value| {
        let tokenizer = Tokenizer::from_json(&model["tokenizer"].to_string());
        (model, tokenizer.expect("the model is one of SentencePiece"))
    };
    models.into_iter().map(read).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("it is text")
}

fn pieces(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .expect("it is a list")
        .iter()
        .map(text)
        .collect()
}

#[test]
fn lines_are_split_into_the_pieces_and_bytes_of_sentencepiece() {
    for (model, tokenizer) in models() {
        for case in model["texts"].as_array().expect("it is a list") {
            let ids = tokenizer.encode(text(&case[0]));
            let tokens: Vec<String> = ids.iter().filter_map(|id| tokenizer.token(*id)).collect();
            assert_eq!(tokens, pieces(&case[1]), "{} {}", model["kind"], case[0]);
        }
    }
}

#[test]
fn pieces_and_bytes_are_joined_as_sentencepiece_does() {
    for (model, tokenizer) in models() {
        let texts = model["texts"].as_array().expect("it is a list").iter();
        let texts = texts.map(|case| (&case[1], &case[2]));
        let broken = model["broken"].as_array().expect("it is a list").iter();
        let broken = broken.map(|case| (&case[0], &case[1]));
        for (tokens, line) in texts.chain(broken) {
            let ids: Vec<u32> = pieces(tokens)
                .into_iter()
                .filter_map(|it| tokenizer.id(it))
                .collect();
            // As Marian's tokenizer, ours drops the spaces around a line.
            assert_eq!(
                tokenizer.decode(&ids),
                text(line).trim(),
                "{}",
                model["kind"]
            );
        }
    }
}

#[test]
fn spans_of_bytes_cover_whole_characters() {
    for (model, tokenizer) in models() {
        for case in model["texts"].as_array().expect("it is a list") {
            let line = text(&case[0]);
            let (ids, spans) = tokenizer.encode_spans(line);
            assert_eq!(ids.len(), spans.len());
            let is_whole = |span: &std::ops::Range<usize>| line.get(span.clone()).is_some();
            assert!(spans.iter().all(is_whole), "{} {line}", model["kind"]);
        }
    }
}
