//! The tokenizer of BART: byte-level BPE (Radford et al. 2019), as a `tokenizer.json` with our special tokens.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::MarianError;
use super::multilingual::{MOST_UNUSED, check_ids, fill};
use super::settings::{Settings, TokenizerSettings, read_file, read_json};
use super::vocabulary::{SRC_VOCABULARY, check_id, check_size, id, in_order, tokens_by_id};
use crate::directory::{TOKENIZER, Tokenizers};
use crate::text::special::{N_SPECIAL, SENTENCE_START, SPECIAL_TOKENS};
use crate::text::{Tokenizer, UNK, added_token};

const MERGES: &str = "merges.txt";

/// The relevant part of a `tokenizer.json`.
#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: BTreeMap<String, usize>,
    merges: Value,
}

/// Reads the tokenizer of both sides, from `vocab.json` and `merges.txt`, or else from `tokenizer.json`.
pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Tokenizers, MarianError> {
    check_ids(folder, settings)?;
    let [vocab, merges, whole] = [SRC_VOCABULARY, MERGES, TOKENIZER].map(|name| folder.join(name));
    let (path, mut tokens, merges) = match merges.exists() || !whole.exists() {
        true => {
            let (tokens, merges) = (tokens_by_id(&vocab)?, read_file(&merges)?);
            (vocab, tokens, pairs(&String::from_utf8_lossy(&merges)))
        }
        false => {
            let File { model } = read_json(&whole)?;
            let tokens = in_order(model.vocab, &whole)?;
            (whole, tokens, model.merges)
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
    let (key, n_tokens) = settings.src_size();
    if tokens.len() + MOST_UNUSED > n_tokens {
        fill(&mut tokens, n_tokens);
    }
    check_size(&path, tokens.len(), (key, n_tokens))?;
    let mut json = tokenizer_json(&tokens, &merges);
    let adds_space = TokenizerSettings::read(folder)?.add_prefix_space;
    json["pre_tokenizer"]["add_prefix_space"] = adds_space.into();
    let tokenizer = Tokenizer::from_json(&json.to_string()).map_err(MarianError::Tokenizer)?;
    Ok(Tokenizers::Joint(tokenizer))
}

/// Returns BART's id for each of our ids: those of `<pad>`, `<unk>`, our `<s>`, which is a copy of `</s>`, and `</s>`, then
/// those of BART's `<s>` and of all others.
pub(super) fn rows(n_tokens: usize) -> Vec<Option<u32>> {
    let all = [1, 3, 2, 2, 0].into_iter().chain(4..).map(Some);
    all.take(n_tokens).collect()
}

/// Returns the merges of a `merges.txt`.
fn pairs(text: &str) -> Value {
    let lines = text.lines().filter(|line| !line.starts_with("#version"));
    json!(
        lines
            .filter_map(|line| line.split_once(' '))
            .collect::<Vec<_>>()
    )
}

/// Returns the file of a tokenizer; `tokens` are in the order of BART's ids.
fn tokenizer_json(tokens: &[String], merges: &Value) -> Value {
    let name = |(ours, row): (usize, Option<u32>)| match row {
        Some(0) => SENTENCE_START.to_owned(),
        _ if ours < N_SPECIAL => SPECIAL_TOKENS[ours].to_owned(),
        row => tokens[row.unwrap_or_default() as usize].clone(),
    };
    let rows = rows(tokens.len() + 1);
    let names: Vec<String> = rows.into_iter().enumerate().map(name).collect();
    let has_no_text = |name: &str| [SENTENCE_START, "<mask>"].contains(&name);
    let added = names.iter().zip(0..).filter(|(name, _)| has_no_text(name));
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
