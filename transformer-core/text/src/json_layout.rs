//! The parts of a `tokenizer.json` around the vocabulary: normalizer, pre-tokenizer and decoder.
//!
//! Special tokens are plain entries of the vocabulary, not "added tokens": other programs would match added tokens in
//! raw text, so that a line with `</s>` in it would end there. Instead the pre-tokenizer splits text so that no word
//! spells a special token. Its rules are in the file, so they also apply in other programs. User-defined symbols are
//! added tokens, because other programs have to match them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::{Case, TokenizerConfig, TokenizerError, TokenizerKind, user_symbols};
use crate::json::{Text, UniqueKeys};

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
struct BpeFile<'a> {
    #[serde(borrow)]
    model: BpeModel<'a>,
}

#[derive(Deserialize)]
struct BpeModel<'a> {
    #[serde(rename = "type")]
    kind: String,
    continuing_subword_prefix: Option<String>,
    #[serde(borrow)]
    vocab: HashMap<Text<'a>, u32>,
    #[serde(borrow)]
    merges: Vec<Merge<'a>>,
}

/// The two sides of a merge: a list of two texts or, in old files, a text with a space.
struct Merge<'a>(Cow<'a, str>, Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl<'de> Visitor<'de> for MergeVisitor {
    type Value = Merge<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a merge")
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<Self::Value, E> {
        let (left, right) = line.split_once(' ').unwrap_or((line, ""));
        Ok(Merge(left.to_owned().into(), right.to_owned().into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut side = || {
            let text = list.next_element::<Text<'de>>()?;
            text.ok_or_else(|| A::Error::invalid_length(1, &self))
        };
        Ok(Merge(side()?.0, side()?.0))
    }
}

/// Checks that every merge makes a token of the vocabulary, because the crate `tokenizers` panics at one that is longer
/// than all tokens. Files that are not BPE models are left to that crate.
fn check_merges(text: &str) -> Result<(), TokenizerError> {
    let Ok(BpeFile { model }) = serde_json::from_str(text) else {
        return Ok(());
    };
    let prefix = model.continuing_subword_prefix.unwrap_or_default();
    for Merge(left, right) in model.merges.into_iter().filter(|_| model.kind == "BPE") {
        let rest = right.strip_prefix(&prefix);
        let token = rest.map(|rest| Text(format!("{left}{rest}").into()));
        if token.is_none_or(|token| !model.vocab.contains_key(&token)) {
            return Err(TokenizerError::Merge {
                left: left.into_owned(),
                right: right.into_owned(),
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
