//! `transformer-infer inspect`: the contents of a model directory.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use transformer_core::directory::{Languages, ModelDirectory, Tokenizers};
use transformer_core::text::special::SPECIAL_TOKENS;
use transformer_core::{ComputePrecision, TransformerConfig};

use super::CommandError;

/// Shows the contents of a model directory, and checks them.
///
/// It checks the format version, the size and SHA-256 of every file, the config, and that the tokenizers
/// match it: everything except loading the weights. It fails with the errors of `translate`.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let directory = ModelDirectory::open(&self.model)?;
        let text = if self.json {
            format!("{:#}\n", as_json(&directory))
        } else {
            as_text(&directory)
        };
        let mut output = io::stdout().lock();
        output
            .write_all(text.as_bytes())
            .map_err(CommandError::output)
    }
}

/// Returns the kind of a tokenizer, according to its file.
fn kind(tokenizer_json: &str) -> String {
    let file: Value = serde_json::from_str(tokenizer_json).unwrap_or_default();
    match file["model"]["type"].as_str() {
        Some("BPE") => "BPE".to_owned(),
        Some("Unigram") => "unigram".to_owned(),
        // A vocabulary of characters splits the line between any two characters.
        Some("WordLevel") if file["pre_tokenizer"]["type"] == "Split" => "characters".to_owned(),
        Some("WordLevel") => "words".to_owned(),
        Some(other) => other.to_owned(),
        None => "unknown".to_owned(),
    }
}

fn vocabularies(tokenizers: &Tokenizers) -> Vec<(&'static str, usize, String)> {
    let sides = match tokenizers {
        Tokenizers::Joint(tokenizer) => vec![("joint", tokenizer)],
        Tokenizers::Separate { src, tgt } => vec![("source", src), ("target", tgt)],
    };
    sides
        .into_iter()
        .map(|(side, tokenizer)| (side, tokenizer.vocab_size(), kind(&tokenizer.to_json())))
        .collect()
}

/// Describes the languages of a model, such as `en to pt-BR`, or `101 languages` for a multilingual one.
pub(crate) fn languages_of(languages: &Languages, tokenizers: &Tokenizers) -> String {
    if let Some(table) = tokenizers.tgt().languages() {
        let codes: Vec<&str> = table.all().iter().map(|it| it.code.as_str()).collect();
        return format!("{} languages: {}", codes.len(), codes.join(", "));
    }
    match (&languages.src, &languages.tgt) {
        (None, None) => "languages unknown".to_owned(),
        (Some(src), None) => format!("{src} to an unknown language"),
        (None, Some(tgt)) => format!("an unknown language to {tgt}"),
        (Some(src), Some(tgt)) => format!("{src} to {tgt}"),
    }
}

fn as_json(directory: &ModelDirectory) -> Value {
    let manifest = directory.manifest();
    let vocabularies = vocabularies(directory.tokenizers()).into_iter();
    let special = SPECIAL_TOKENS.iter().enumerate();
    let files = manifest.files.iter();
    json!({
        "path": directory.path().display().to_string(),
        "format": manifest.format,
        "precision": manifest.precision,
        "src_lang": directory.languages().src,
        "tgt_lang": directory.languages().tgt,
        "config": directory.config(),
        "n_parameters": directory.config().parameter_count(),
        "vocabularies": vocabularies
            .map(|(side, vocab_size, kind)| json!({ "side": side, "vocab_size": vocab_size, "kind": kind }))
            .collect::<Vec<_>>(),
        "special_tokens": special
            .map(|(id, token)| ((*token).to_owned(), json!(id)))
            .collect::<Map<_, _>>(),
        "files": files
            .map(|file| json!({ "name": file.name, "bytes": file.bytes, "sha256": file.sha256, "matches": true }))
            .collect::<Vec<_>>(),
        "training": manifest.training,
    })
}

fn as_text(directory: &ModelDirectory) -> String {
    let manifest = directory.manifest();
    let config = directory.config();
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<13}{value}");
    };
    row("model", &directory.path().display().to_string());
    row("format", &manifest.format.to_string());
    row("precision", manifest.precision.name());
    if directory.compute_precision() == ComputePrecision::Int8 {
        row(
            "computed",
            "on CPUs: matrix products in int8; embeddings, biases, normalization, softmax and attention in f32",
        );
    }
    let (languages, tokenizers) = (directory.languages(), directory.tokenizers());
    if *languages != Languages::default() || tokenizers.tgt().languages().is_some() {
        row("languages", &languages_of(languages, tokenizers));
    }
    row("layers", &layers(config));
    row("config", &other_settings(config));
    let bytes = manifest.files.weights.bytes;
    let n_parameters = grouped(config.parameter_count() as u64);
    row(
        "parameters",
        &format!("{n_parameters} ({} bytes on disk)", grouped(bytes)),
    );
    for (side, vocab_size, kind) in vocabularies(directory.tokenizers()) {
        row(
            "vocabulary",
            &format!("{vocab_size} tokens, {side}, {kind}"),
        );
    }
    let special = SPECIAL_TOKENS.iter().enumerate();
    let special: Vec<String> = special.map(|(id, token)| format!("{token} {id}")).collect();
    row("special", &special.join(", "));
    for file in manifest.files.iter() {
        let bytes = grouped(file.bytes);
        let line = format!(
            "{}, {bytes} bytes, SHA-256 {} matches",
            file.name, file.sha256
        );
        row("file", &line);
    }
    let mut training = manifest.training.clone();
    // They have their own row.
    Languages::default().write_to(&mut training);
    describe_training(&training, &mut row);
    text
}

/// Adds a row for each entry of the manifest's `training`: objects key by key, lists of objects object by object, and
/// texts of several lines last, indented below their name.
fn describe_training(training: &Value, row: &mut impl FnMut(&str, &str)) {
    let Some(training) = training.as_object() else {
        return row("training", &training.to_string());
    };
    let is_long = |value: &Value| value.as_str().is_some_and(|text| text.contains('\n'));
    let (long, short): (Vec<_>, Vec<_>) = training.iter().partition(|(_, value)| is_long(value));
    for (name, value) in short.into_iter().chain(long) {
        match value {
            Value::Object(inner) => {
                for (key, value) in inner.iter().filter(|(_, value)| !value.is_null()) {
                    row(name, &format!("{key} {}", plain(value)));
                }
            }
            Value::Array(items) if items.iter().all(Value::is_object) => {
                for item in items.iter().filter_map(Value::as_object) {
                    let entries = item
                        .iter()
                        .map(|(key, value)| format!("{key} {}", plain(value)));
                    row(name, &entries.collect::<Vec<_>>().join(", "));
                }
            }
            value if is_long(value) => {
                row(name, "");
                for line in plain(value).lines() {
                    row("", line);
                }
            }
            value => row(name, &plain(value)),
        }
    }
}

/// Formats a value for display: numbers with at most six digits, objects and lists by their entries.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or_else(String::new, short),
        Value::Object(entries) => {
            let entries = entries.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.map(|(key, value)| format!("{key} {}", plain(value)));
            entries.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    match rounded.abs() {
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{rounded:e}"),
        _ => rounded.to_string(),
    }
}

fn layers(config: &TransformerConfig) -> String {
    format!(
        "{} encoder, {} decoder; d_model {}, d_ff {}, {} heads",
        config.n_encoder_layers,
        config.n_decoder_layers,
        config.d_model,
        config.d_ff,
        config.n_heads
    )
}

fn other_settings(config: &TransformerConfig) -> String {
    const SHOWN: [&str; 7] = [
        "n_encoder_layers",
        "n_decoder_layers",
        "d_model",
        "d_ff",
        "n_heads",
        "src_vocab_size",
        "tgt_vocab_size",
    ];
    let config = serde_json::to_value(config).unwrap_or_default();
    let settings = config.as_object().into_iter().flatten();
    let settings = settings
        .filter(|(name, value)| !SHOWN.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| format!("{name} {}", plain(value)));
    settings.collect::<Vec<_>>().join(", ")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_settings_are_shown_one_in_a_row() {
        let change = |from: &str, to: &str, update: u64| json!({ "changed": "model.dropout", "from": from, "to": to, "update": update });
        let mut rows = Vec::new();
        let training = json!({ "changes": [change("0.1", "0.2", 21), change("0.2", "0.3", 41)] });
        describe_training(&training, &mut |name, value| {
            rows.push(format!("{name} {value}"));
        });
        let expected = [
            "changes changed model.dropout, from 0.1, to 0.2, update 21",
            "changes changed model.dropout, from 0.2, to 0.3, update 41",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn values_are_shown_without_json_and_with_six_digits() {
        let value = json!({
            "bleu": 36.700_123_456_789,
            "rate": 1e-9,
            "search": { "beam_size": 4, "length_penalty": { "gnmt": 0.6 }, "seed": null },
            "updates": [10, 20],
            "zero": 0.0,
        });
        assert_eq!(
            plain(&value),
            "bleu 36.7001, rate 1e-9, search beam_size 4, length_penalty gnmt 0.6, updates 10, 20, zero 0"
        );
    }

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let written = [0, 999, 1000, 12_345_678].map(grouped);
        assert_eq!(written, ["0", "999", "1,000", "12,345,678"]);
    }
}
