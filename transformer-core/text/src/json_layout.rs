//! The parts of a `tokenizer.json` around the vocabulary: normalizer, pre-tokenizer and decoder.
//!
//! Special tokens are plain entries of the vocabulary, not "added tokens": other programs would match added tokens in
//! raw text, so that a line with `</s>` in it would end there. Instead the pre-tokenizer splits text so that no word
//! spells a special token. Its rules are in the file, so they also apply in other programs. User-defined symbols are
//! added tokens, because other programs have to match them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Case, TokenizerConfig, TokenizerError, TokenizerKind, user_symbols};
use crate::json::UniqueKeys;

/// Marks the space before a word, as in SentencePiece.
pub(super) const WORD_START: &str = "▁";

/// Whitespace: the Unicode property, NUL, and the mark itself, because decoding could not distinguish it from a space.
const WHITESPACE: &str = r"[\s\x00▁]+";

/// Letters and digits with the space before them, or punctuation and symbols with the space before them, so
/// that `house` is the same word with and without a comma after it. Every special token mixes both classes.
const LETTERS_OR_SYMBOLS: &str = r"▁?[^\p{P}\p{S}]+|▁?[\p{P}\p{S}]+";

/// The `<` of the spelling of a special token.
const SPECIAL_START: &str = "<(?=(?:pad|unk|s|/s)>)";

pub(super) fn tokenizer_json(config: &TokenizerConfig, model: &Value) -> Value {
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": user_symbols::added_tokens(config),
        "normalizer": normalizer(config),
        "pre_tokenizer": pre_tokenizer(config.kind),
        "post_processor": null,
        "decoder": decoder(config),
        "model": model,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the keys are checked")]
struct Keys {
    version: Option<UniqueKeys>,
    truncation: Option<UniqueKeys>,
    padding: Option<UniqueKeys>,
    added_tokens: Option<UniqueKeys>,
    normalizer: Option<UniqueKeys>,
    pre_tokenizer: Option<UniqueKeys>,
    post_processor: Option<UniqueKeys>,
    decoder: Option<UniqueKeys>,
    model: UniqueKeys,
}

/// Checks for faults that the crate `tokenizers` accepts silently: unknown keys, and duplicate keys, of which it takes
/// the last.
pub(super) fn check(text: &str) -> Result<(), TokenizerError> {
    match serde_json::from_str::<Keys>(text) {
        Ok(_) => check_merges(text),
        Err(error) => Err(TokenizerError::Json(error.into())),
    }
}

/// The parts of a BPE model that its merges depend on.
#[derive(Deserialize)]
struct BpeFile {
    model: BpeModel,
}

#[derive(Deserialize)]
struct BpeModel {
    #[serde(rename = "type")]
    kind: String,
    continuing_subword_prefix: Option<String>,
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Line(String),
}

/// Checks that every merge makes a token of the vocabulary, because the crate `tokenizers` panics at one that is longer
/// than all tokens. Files that are not BPE models are left to that crate.
fn check_merges(text: &str) -> Result<(), TokenizerError> {
    let Ok(BpeFile { model }) = serde_json::from_str(text) else {
        return Ok(());
    };
    let prefix = model.continuing_subword_prefix.unwrap_or_default();
    for merge in model.merges.iter().filter(|_| model.kind == "BPE") {
        let (left, right) = match merge {
            Merge::Pair(left, right) => (left.as_str(), right.as_str()),
            Merge::Line(line) => line.split_once(' ').unwrap_or((line, "")),
        };
        let rest = right.strip_prefix(&prefix);
        let token = rest.map(|rest| format!("{left}{rest}"));
        if token.is_none_or(|token| !model.vocab.contains_key(&token)) {
            return Err(TokenizerError::Merge {
                left: left.to_owned(),
                right: right.to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns the normalizer: NFC, because two encodings of a character must give the same token. Not NFKC: it rewrites
/// text (`½` to `1⁄2`, `…` to `...`), and the model could never output the original.
pub(super) fn normalizer(config: &TokenizerConfig) -> Value {
    let mut steps = Vec::new();
    if config.case == Case::Lower {
        steps.push(json!({"type": "Lowercase"}));
    }
    steps.push(json!({"type": "NFC"}));
    if matches!(config.kind, TokenizerKind::Bpe | TokenizerKind::Unigram) {
        steps.push(json!({"type": "Replace", "pattern": {"Regex": WHITESPACE}, "content": " "}));
        steps.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
    }
    json!({"type": "Sequence", "normalizers": steps})
}

pub(super) fn pre_tokenizer(kind: TokenizerKind) -> Value {
    let steps = match kind {
        TokenizerKind::Word => [
            json!({"type": "WhitespaceSplit"}),
            split(SPECIAL_START, "MergedWithPrevious"),
        ],
        TokenizerKind::Char => return split(r"[\s\S]", "Isolated"),
        TokenizerKind::Bpe | TokenizerKind::Unigram => {
            [metaspace(), split(LETTERS_OR_SYMBOLS, "Isolated")]
        }
    };
    json!({"type": "Sequence", "pretokenizers": steps})
}

fn decoder(config: &TokenizerConfig) -> Value {
    match config.kind {
        // Without a decoder the tokens are joined by spaces.
        TokenizerKind::Word => Value::Null,
        TokenizerKind::Char => json!({"type": "Fuse"}),
        TokenizerKind::Bpe | TokenizerKind::Unigram => {
            let bytes = config
                .byte_fallback
                .then(|| json!({"type": "ByteFallback"}));
            let symbols = user_symbols::decoder(config, WORD_START);
            let before: Vec<Value> = bytes.into_iter().chain(symbols).collect();
            match before.is_empty() {
                true => metaspace(),
                false => {
                    let decoders = [before, vec![metaspace()]].concat();
                    json!({"type": "Sequence", "decoders": decoders})
                }
            }
        }
    }
}

fn split(regex: &str, behavior: &str) -> Value {
    let pattern = json!({"Regex": regex});
    json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": false})
}

fn metaspace() -> Value {
    json!({
        "type": "Metaspace",
        "replacement": WORD_START,
        "prepend_scheme": "always",
        "split": true,
    })
}
