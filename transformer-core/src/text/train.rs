//! Makes a tokenizer from text: counts its words, and learns a vocabulary of the wished kind.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::layout::tokenizer_json;
use super::special::{N_SPECIAL, SPECIAL_TOKENS, UNK};
use super::{TokenizerConfig, TokenizerError, TokenizerKind, bpe, unigram};

/// The `tokenizer.json` that `config` and `lines` make.
pub(super) fn train<I>(config: &TokenizerConfig, lines: I) -> Result<Value, TokenizerError>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let words = count_words(config, lines)?;
    if words.is_empty() {
        return Err(TokenizerError::EmptyCorpus);
    }
    let alphabet: BTreeSet<char> = words.iter().flat_map(|(word, _)| word.chars()).collect();
    let smallest = N_SPECIAL
        + match config.kind {
            TokenizerKind::Word | TokenizerKind::Char => 1,
            TokenizerKind::Bpe | TokenizerKind::Unigram => alphabet.len(),
        };
    if config.vocab_size < smallest {
        let TokenizerConfig {
            kind, vocab_size, ..
        } = *config;
        return Err(TokenizerError::VocabTooSmall {
            kind,
            vocab_size,
            smallest,
        });
    }
    let model = match config.kind {
        TokenizerKind::Word | TokenizerKind::Char => word_level(words, config.vocab_size),
        TokenizerKind::Bpe => bpe_model(&words, &alphabet, config.vocab_size),
        TokenizerKind::Unigram => unigram_model(&words, config.vocab_size),
    };
    Ok(tokenizer_json(config, &model))
}

/// Every distinct word with its count, in the order of their text.
///
/// Cut by the very rules that encoding will use.
fn count_words<I>(config: &TokenizerConfig, lines: I) -> Result<Vec<(String, u64)>, TokenizerError>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let bare = super::tokenizer::parse(&tokenizer_json(config, &word_level_json(&[])).to_string())?;
    let mut counts: HashMap<String, u64> = HashMap::new();
    for line in lines {
        let mut line = NormalizedString::from(line.as_ref());
        if let Some(normalizer) = bare.get_normalizer() {
            normalizer
                .normalize(&mut line)
                .map_err(TokenizerError::encode)?;
        }
        let mut words = PreTokenizedString::from(line);
        if let Some(pre_tokenizer) = bare.get_pre_tokenizer() {
            pre_tokenizer
                .pre_tokenize(&mut words)
                .map_err(TokenizerError::encode)?;
        }
        for (word, _, _) in words.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None if word.is_empty() => {}
                None => {
                    counts.insert(word.to_owned(), 1);
                }
            }
        }
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable();
    Ok(words)
}

/// The most frequent words; among equals those that come first in the order of their text.
fn word_level(mut words: Vec<(String, u64)>, vocab_size: usize) -> Value {
    words.sort_by_key(|(_, count)| Reverse(*count));
    words.truncate(vocab_size - N_SPECIAL);
    word_level_json(&words)
}

fn word_level_json(words: &[(String, u64)]) -> Value {
    let tokens = special_tokens().chain(words.iter().map(|(word, _)| word.clone()));
    json!({
        "type": "WordLevel",
        "vocab": with_ids(tokens),
        "unk_token": SPECIAL_TOKENS[UNK as usize],
    })
}

fn bpe_model(words: &[(String, u64)], alphabet: &BTreeSet<char>, vocab_size: usize) -> Value {
    let start = special_tokens()
        .chain(alphabet.iter().map(char::to_string))
        .collect();
    let bpe = bpe::train(words, start, vocab_size);
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": SPECIAL_TOKENS[UNK as usize],
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": true,
        "byte_fallback": false,
        "ignore_merges": false,
        "vocab": with_ids(bpe.vocab),
        "merges": bpe.merges,
    })
}

fn unigram_model(words: &[(String, u64)], vocab_size: usize) -> Value {
    // No word contains a special token, so their scores are never used.
    let special = special_tokens().map(|token| (token, 0.0));
    let pieces = unigram::train(words, vocab_size - N_SPECIAL);
    json!({
        "type": "Unigram",
        "unk_id": UNK,
        "vocab": special.chain(pieces).collect::<Vec<_>>(),
        "byte_fallback": false,
    })
}

fn special_tokens() -> impl Iterator<Item = String> {
    SPECIAL_TOKENS.into_iter().map(str::to_owned)
}

fn with_ids(tokens: impl IntoIterator<Item = String>) -> Value {
    tokens
        .into_iter()
        .zip(0u32..)
        .map(|(token, id)| (token, Value::from(id)))
        .collect()
}
