//! The `tokenizer.json` around a vocabulary: how text is normalized, cut into words, and joined.
//!
//! Special tokens are entries of the vocabulary and nothing else. As "added tokens" they would be
//! cut out of raw text by every program that opens the file, so that a line with `</s>` in it would
//! end there. Instead text is cut so that no word which the vocabulary sees can be such a spelling.
//! The cuts stand in the file, so they also hold in other programs.

use serde_json::{Value, json};

use super::{Case, TokenizerConfig, TokenizerKind};

/// Stands for the space before a word, as in SentencePiece.
pub(super) const WORD_START: &str = "▁";

/// What counts as whitespace: the Unicode property, NUL, and the mark itself, which decoding could
/// not tell from a space.
const WHITESPACE: &str = r"[\s\x00▁]+";

/// Letters and digits with the space before them, or punctuation and symbols with theirs: `house`
/// is one token, whether a comma follows or not. No special token is only one of the two.
const LETTERS_OR_SYMBOLS: &str = r"▁?[^\p{P}\p{S}]+|▁?[\p{P}\p{S}]+";

/// The `<` of a spelled-out special token.
const SPECIAL_START: &str = "<(?=(?:pad|unk|s|/s)>)";

/// A whole `tokenizer.json` around `model`.
pub(super) fn tokenizer_json(config: &TokenizerConfig, model: &Value) -> Value {
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": normalizer(config),
        "pre_tokenizer": pre_tokenizer(config.kind),
        "post_processor": null,
        "decoder": decoder(config.kind),
        "model": model,
    })
}

/// NFC, because two encodings of one character must be one token. Not NFKC: it rewrites text
/// (`½` to `1⁄2`, `…` to `...`), and the model could never write the original.
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

fn decoder(kind: TokenizerKind) -> Value {
    match kind {
        // Without a decoder the tokens are joined by spaces.
        TokenizerKind::Word => Value::Null,
        TokenizerKind::Char => json!({"type": "Fuse"}),
        TokenizerKind::Bpe | TokenizerKind::Unigram => metaspace(),
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
