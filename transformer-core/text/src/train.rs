//! Training of a tokenizer: counts words and learns a vocabulary of the configured kind.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::cached_tokenizer::WordSplit;
use super::json_layout::tokenizer_json;
use super::special::{N_SPECIAL, SPECIAL_TOKENS, UNK, byte_tokens};
use super::user_symbols::UserSymbols;
use super::{TokenizerConfig, TokenizerError, TokenizerKind, bpe, unigram};

/// Maximum length of a word that is learned from as a whole, in characters. A longer word is learned from in pieces of
/// this length, because the time of a merge grows with the length of the words that it occurs in.
const MAX_WORD_CHARS: usize = 256;

/// Maximum number of pieces of such a word that are learned from. The rest is hardly text, and would take seconds.
const MAX_PIECES: usize = 16;

pub(super) fn train<I>(
    config: &TokenizerConfig,
    lines: I,
    on_progress: &mut dyn FnMut(f64),
) -> Result<Value, TokenizerError>
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
        + config.user_symbols.len()
        + match config.kind {
            TokenizerKind::Word | TokenizerKind::Char => 1,
            TokenizerKind::Bpe | TokenizerKind::Unigram => bytes(config).count() + alphabet.len(),
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
        TokenizerKind::Word | TokenizerKind::Char => word_level(words, config),
        TokenizerKind::Bpe => bpe_model(&words, &alphabet, config, on_progress),
        TokenizerKind::Unigram => unigram_model(&words, config, on_progress),
    };
    Ok(tokenizer_json(config, &model))
}

/// Returns every distinct word with its count, sorted by word.
///
/// Applies the rules of encoding. They are slow, so a text that can be split independently of the rest of its line is
/// split only once.
fn count_words<I>(config: &TokenizerConfig, lines: I) -> Result<Vec<(String, u64)>, TokenizerError>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let symbols = UserSymbols::of(config)?;
    let split = WordSplit::for_kind(config.kind);
    let mut texts = HashMap::new();
    for line in lines {
        for text in symbols.texts_between(line.as_ref()) {
            split.split(text).for_each(|text| add(&mut texts, text, 1));
        }
    }
    let texts = texts.iter().map(|(text, count)| (text.as_str(), *count));
    count_words_in(config, texts)
}

fn count_words_in<'a>(
    config: &TokenizerConfig,
    texts: impl Iterator<Item = (&'a str, u64)>,
) -> Result<Vec<(String, u64)>, TokenizerError> {
    let rules = tokenizer_json(config, &word_level_json(&[], config)).to_string();
    let rules: tokenizers::Tokenizer = rules.parse().map_err(TokenizerError::Parse)?;
    let mut counts: HashMap<String, u64> = HashMap::new();
    for (text, count) in texts {
        let words = pre_tokenized(&rules, text)?;
        for (word, _, _) in words.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match config.kind {
                TokenizerKind::Word | TokenizerKind::Char => add(&mut counts, word, count),
                TokenizerKind::Bpe | TokenizerKind::Unigram => {
                    pieces(word).for_each(|piece| add(&mut counts, piece, count));
                }
            }
        }
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable();
    Ok(words)
}

/// Normalizes a text and splits it into words, by the rules of a tokenizer.
pub(super) fn pre_tokenized(
    rules: &tokenizers::Tokenizer,
    text: &str,
) -> Result<PreTokenizedString, TokenizerError> {
    let mut text = NormalizedString::from(text);
    if let Some(normalizer) = rules.get_normalizer() {
        let normalized = normalizer.normalize(&mut text);
        normalized.map_err(TokenizerError::Encode)?;
    }
    let mut words = PreTokenizedString::from(text);
    if let Some(pre_tokenizer) = rules.get_pre_tokenizer() {
        let divided = pre_tokenizer.pre_tokenize(&mut words);
        divided.map_err(TokenizerError::Encode)?;
    }
    Ok(words)
}

/// Splits the start of a word into at most [`MAX_PIECES`] pieces of at most [`MAX_WORD_CHARS`] characters.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(MAX_WORD_CHARS);
        let (piece, others) = rest.split_at(end.map_or(rest.len(), |(end, _)| end));
        rest = others;
        (!piece.is_empty()).then_some(piece)
    })
    .take(MAX_PIECES)
}

fn add(counts: &mut HashMap<String, u64>, word: &str, n_times: u64) {
    match counts.get_mut(word) {
        Some(count) => *count += n_times,
        None if word.is_empty() => {}
        None => {
            counts.insert(word.to_owned(), n_times);
        }
    }
}

/// Returns the model of the most frequent words; among equally frequent ones the first in sorted order.
fn word_level(mut words: Vec<(String, u64)>, config: &TokenizerConfig) -> Value {
    words.retain(|(word, _)| !is_symbol(config, word));
    words.sort_by_key(|(_, count)| Reverse(*count));
    words.truncate(config.vocab_size - first_tokens(config).count());
    word_level_json(&words, config)
}

fn word_level_json(words: &[(String, u64)], config: &TokenizerConfig) -> Value {
    let tokens = first_tokens(config).chain(words.iter().map(|(word, _)| word.clone()));
    json!({
        "type": "WordLevel",
        "vocab": with_ids(tokens),
        "unk_token": SPECIAL_TOKENS[UNK as usize],
    })
}

fn bpe_model(
    words: &[(String, u64)],
    alphabet: &BTreeSet<char>,
    config: &TokenizerConfig,
    on_progress: &mut dyn FnMut(f64),
) -> Value {
    let alphabet = alphabet.iter().map(char::to_string);
    let start = first_tokens(config)
        .chain(bytes(config))
        .chain(alphabet.filter(|c| !is_symbol(config, c)))
        .collect();
    let bpe = bpe::train(words, start, config.vocab_size, on_progress);
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": SPECIAL_TOKENS[UNK as usize],
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": true,
        "byte_fallback": config.byte_fallback,
        "ignore_merges": false,
        "vocab": with_ids(bpe.vocab),
        "merges": bpe.merges,
    })
}

fn unigram_model(
    words: &[(String, u64)],
    config: &TokenizerConfig,
    on_progress: &mut dyn FnMut(f64),
) -> Value {
    // No word contains one of these tokens, so their scores are never used.
    let special: Vec<_> = first_tokens(config)
        .chain(bytes(config))
        .map(|token| (token, 0.0))
        .collect();
    let mut pieces = unigram::train(words, config.vocab_size - special.len(), on_progress);
    pieces.retain(|(piece, _)| !is_symbol(config, piece));
    let special = special.into_iter();
    json!({
        "type": "Unigram",
        "unk_id": UNK,
        "vocab": special.chain(pieces).collect::<Vec<_>>(),
        "byte_fallback": config.byte_fallback,
    })
}

fn bytes(config: &TokenizerConfig) -> impl Iterator<Item = String> {
    byte_tokens().filter(move |_| config.byte_fallback)
}

/// Returns the first tokens of a vocabulary: the special ones, then the user-defined symbols.
fn first_tokens(config: &TokenizerConfig) -> impl Iterator<Item = String> {
    let special = SPECIAL_TOKENS.into_iter().map(str::to_owned);
    special.chain(config.user_symbols.iter().cloned())
}

/// Returns whether a token is one of the user-defined symbols. Normalization, such as lower-casing, can make them from
/// other text.
fn is_symbol(config: &TokenizerConfig, token: &str) -> bool {
    config.user_symbols.iter().any(|symbol| symbol == token)
}

fn with_ids(tokens: impl IntoIterator<Item = String>) -> Value {
    tokens
        .into_iter()
        .zip(0u32..)
        .map(|(token, id)| (token, Value::from(id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use crate::lines_for_tests::mixed_script_lines;

    #[test]
    fn a_long_word_is_learned_from_in_pieces_and_only_its_start() {
        let word = "äb".repeat(MAX_WORD_CHARS);
        let cut: Vec<&str> = pieces(&word).collect();
        assert_eq!(cut.concat(), word);
        assert!(cut.iter().all(|it| it.chars().count() == MAX_WORD_CHARS));
        assert_eq!(pieces(&word[..6]).collect::<Vec<_>>(), [&word[..6]]);
        assert_eq!(pieces(&word.repeat(MAX_PIECES)).count(), MAX_PIECES);
    }

    #[test]
    fn words_are_counted_as_if_whole_lines_were_split() -> Result<(), TokenizerError> {
        let lines = mixed_script_lines(500);
        let kinds = [TokenizerKind::Word, TokenizerKind::Char, TokenizerKind::Bpe];
        for kind in kinds {
            for case in [Case::Keep, Case::Lower] {
                let config = TokenizerConfig {
                    kind,
                    case,
                    ..TokenizerConfig::default()
                };
                let whole = lines.iter().map(|line| (line.as_str(), 1));
                let counts = count_words(&config, &lines)?;
                assert_eq!(counts, count_words_in(&config, whole)?, "{kind}");
            }
        }
        Ok(())
    }
}
