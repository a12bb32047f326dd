//! The tokenizer of BART: byte-level BPE (Radford et al. 2019), as a `tokenizer.json` with our special tokens.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::MarianError;
use super::multilingual::{MOST_UNUSED, added_tokens, check_ids, fill};
use super::settings::{Settings, TokenizerSettings, read_file, read_json};
use super::vocabulary::{SRC_VOCABULARY, check_id, check_size, id, in_order, tokens_by_id};
use crate::directory::{TOKENIZER, Tokenizers};
use crate::json::from_value;
use crate::text::special::{N_SPECIAL, SENTENCE_START, SPECIAL_TOKENS};
use crate::text::{Tokenizer, UNK, added_token};

const MERGES: &str = "merges.txt";
const MASK: &str = "<mask>";

/// The relevant part of the model in a `tokenizer.json`.
#[derive(Deserialize)]
struct Model {
    vocab: BTreeMap<String, usize>,
    merges: Value,
}

/// Reads the tokenizer of both sides, from `vocab.json` and `merges.txt`, or else from `tokenizer.json`.
pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    check_ids(folder, settings)?;
    let [vocab, merges, whole] = [SRC_VOCABULARY, MERGES, TOKENIZER].map(|name| folder.join(name));
    let (path, mut tokens, merges, adds_space) = match merges.exists() || !whole.exists() {
        true => {
            let (tokens, merges) = (tokens_by_id(&vocab)?, read_file(&merges)?);
            let merges = pairs(&String::from_utf8_lossy(&merges));
            (vocab, tokens, merges, false)
        }
        false => {
            let file: Value = read_json(&whole)?;
            let adds_space = check_steps(&file, &whole)?;
            let model: Model = from_value(&file["model"]).map_err(|source| {
                let path = whole.clone();
                MarianError::Json { path, source }
            })?;
            let tokens = in_order(model.vocab, &whole)?;
            (whole, tokens, model.merges, adds_space)
        }
    };
    for (token, expected) in [
        ("<s>", ("bos_token_id", 0)),
        ("<pad>", settings.pad()),
        ("</s>", settings.eos()),
        ("<unk>", ("unk_token_id", 3)),
    ] {
        check_id(&path, token, id(&tokens, token, &path)?, expected)?;
    }
    let (name, added) = added_tokens(folder, tokens.len())?;
    let mut added = added.into_values();
    if let Some(token) = added.find(|token| !tokens.contains(token)) {
        let path = folder.join(name);
        return Err(MarianError::AddedToken { path, token });
    }
    let (key, n_tokens) = settings.src_size();
    if tokens.len() == n_tokens + 1 {
        // Published models that summarize have no row for it.
        tokens.pop_if(|token| token == MASK);
    }
    let n_named = tokens.len();
    if tokens.len() + MOST_UNUSED > n_tokens {
        fill(&mut tokens, n_tokens);
    }
    check_size(&path, tokens.len(), (key, n_tokens))?;
    let mut json = tokenizer_json(&tokens, n_named, &merges);
    let setting = TokenizerSettings::read(folder)?.add_prefix_space;
    json["pre_tokenizer"]["add_prefix_space"] = setting.unwrap_or(adds_space).into();
    let tokenizer = Tokenizer::from_json(&json.to_string()).map_err(MarianError::Tokenizer)?;
    Ok(Tokenizers::Joint(tokenizer))
}

/// Checks that a `tokenizer.json` has byte-level BPE and nothing else, and returns whether it puts a space before a text
/// without one.
fn check_steps(file: &Value, path: &Path) -> Result<bool, MarianError> {
    let whole = &file["pre_tokenizer"];
    let steps = whole["pretokenizers"].as_array();
    let split = match steps.map(Vec::as_slice) {
        Some([only]) => only,
        _ => whole,
    };
    // Early versions of `tokenizers` wrote no type of a model with merges.
    let kind = &file["model"]["type"];
    let is_bpe = kind == "BPE" || kind.is_null() && file["model"]["merges"].is_array();
    let checks = [
        ("model.type", kind, is_bpe, "only BPE"),
        (
            "normalizer",
            &file["normalizer"]["type"],
            file["normalizer"].is_null(),
            "only null",
        ),
        (
            "pre_tokenizer",
            &split["type"],
            split["type"] == "ByteLevel",
            "only ByteLevel",
        ),
        (
            "use_regex",
            &split["use_regex"],
            split["use_regex"] != false,
            "only true",
        ),
    ];
    match checks.into_iter().find(|(_, _, is_right, _)| !is_right) {
        Some((key, found, _, expected)) => Err(MarianError::Setting {
            path: path.to_owned(),
            key,
            found: found.to_string(),
            expected,
        }),
        None => Ok(split["add_prefix_space"] == true),
    }
}

/// Returns BART's id for each of our ids: those of `<pad>`, `<unk>`, our `<s>`, which is a copy of `</s>`, and `</s>`, then
/// those of BART's `<s>` and of all others.
pub(super) fn rows(n_tokens: usize) -> Vec<Option<u32>> {
    let all = [1, 3, 2, 2, 0].into_iter().chain(4..).map(Some);
    all.take(n_tokens).collect()
}

fn pairs(text: &str) -> Value {
    let lines = text.lines().filter(|line| !line.starts_with("#version"));
    json!(
        lines
            .filter_map(|line| line.split_once(' '))
            .collect::<Vec<_>>()
    )
}

/// Returns the file of a tokenizer; `tokens` are in the order of BART's ids, and those from `n_named` on have no meaning.
fn tokenizer_json(tokens: &[String], n_named: usize, merges: &Value) -> Value {
    let name = |(ours, row): (usize, Option<u32>)| match row {
        Some(0) => SENTENCE_START.to_owned(),
        _ if ours < N_SPECIAL => SPECIAL_TOKENS[ours].to_owned(),
        row => tokens[row.unwrap_or_default() as usize].clone(),
    };
    let rows = rows(tokens.len() + 1);
    let names: Vec<String> = rows.into_iter().enumerate().map(name).collect();
    // Our `<s>` comes before theirs, so an id here is by one larger.
    let has_no_text =
        |name: &str, id: usize| [SENTENCE_START, MASK].contains(&name) || id > n_named;
    let added = names.iter().zip(0..);
    let added = added.filter(|(name, id)| has_no_text(name, *id));
    let special = |(name, id): (&String, usize)| {
        let mut token = added_token(name, id);
        token["special"] = true.into();
        token
    };
    let added: Vec<Value> = added.map(special).collect();
    let ids = names.iter().cloned().zip(0_u32..);
    let vocab: Value = ids.map(|(name, id)| (name, Value::from(id))).collect();
    let byte_level = json!({
        "type": "ByteLevel",
        "add_prefix_space": false,
        "trim_offsets": true,
        "use_regex": true,
    });
    json!({
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "unk_token": SPECIAL_TOKENS[UNK as usize],
            "vocab": vocab,
            "merges": merges,
        },
    })
}
