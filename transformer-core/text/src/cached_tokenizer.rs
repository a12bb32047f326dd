//! [`CachedTokenizer`]: a tokenizer of the `tokenizers` crate that remembers the ids of words. [`WordCache`] has those of
//! words that were encoded before, for tokenizers that encode words independently.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use tokenizers::{Encoding, ModelWrapper};

use super::json_layout::{normalizer, pre_tokenizer};
use super::special::{UNK, is_special};
use super::user_symbols::is_user_symbol;
use super::{Case, TokenizerConfig, TokenizerKind};

/// A tokenizer of the `tokenizers` crate, with a cache of encoded words.
#[derive(Debug)]
pub(super) struct CachedTokenizer {
    pub(super) tokenizer: tokenizers::Tokenizer,
    /// The cache of words; `None` if words cannot be encoded independently of each other.
    words: Option<WordCache>,
}

impl CachedTokenizer {
    pub(super) fn new(tokenizer: tokenizers::Tokenizer) -> Self {
        let words = WordCache::for_tokenizer(&tokenizer);
        Self { tokenizer, words }
    }

    /// Returns whether words are encoded independently of each other.
    pub(super) fn encodes_words_alone(&self) -> bool {
        self.words.is_some()
    }

    pub(super) fn encode(&self, line: &str) -> Vec<u32> {
        match &self.words {
            Some(words) => words.encode(line, |word| self.encode_uncached(word)),
            None => self.encode_uncached(line),
        }
    }

    fn encode_uncached(&self, text: &str) -> Vec<u32> {
        let encoding = self.tokenizer.encode_fast(text, false);
        ids(&encoding.expect("reading a tokenizer checks that it encodes unknown text"))
    }
}

/// Returns the ids of an encoding, with `<unk>` in place of other special tokens.
///
/// Files from elsewhere may lack the rule against text that spells a special token, and a stray `</s>` would end the
/// sentence.
pub(super) fn ids(encoding: &Encoding) -> Vec<u32> {
    let ids = encoding.get_ids().iter();
    ids.map(|&id| if is_special(id) { UNK } else { id })
        .collect()
}

/// Maximum number of cached words: 55 MB at most.
const MAX_WORDS: usize = 1 << 17;

/// Length of the longest cached word, in bytes. Longer ones are rarely repeated.
const MAX_WORD_LEN: usize = 64;

/// The way in which a line is split into texts that can be normalized and tokenized independently.
///
/// Normalization to NFC keeps whitespace, composes it with nothing and moves no combining mark across it; the rules of
/// the pre-tokenizer look at a single word. An ASCII character does not affect the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordSplit {
    /// At whitespace, which is dropped.
    Words,
    /// At whitespace, NUL and the mark of a word's start, which are dropped.
    MarkedWords,
    /// Into characters, if the line is ASCII; otherwise not at all.
    Characters,
}

impl WordSplit {
    pub(super) fn for_kind(kind: TokenizerKind) -> Self {
        match kind {
            TokenizerKind::Word => Self::Words,
            TokenizerKind::Char => Self::Characters,
            TokenizerKind::Bpe | TokenizerKind::Unigram => Self::MarkedWords,
        }
    }

    pub(super) fn split<'a>(self, line: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        let is_marked = self == Self::MarkedWords;
        let separates = move |c: char| c.is_whitespace() || (is_marked && matches!(c, '\0' | '▁'));
        let texts = match self {
            Self::Words | Self::MarkedWords => line.split(separates),
            Self::Characters if line.is_ascii() => {
                return Box::new((0..line.len()).map(|byte| &line[byte..=byte]));
            }
            Self::Characters => return Box::new(Some(line).into_iter()),
        };
        Box::new(texts.filter(|text| !text.is_empty()))
    }
}

/// Caches the ids of words, because most words of a text are frequent ones.
#[derive(Debug)]
pub(super) struct WordCache {
    split: WordSplit,
    max_words: usize,
    ids: RwLock<HashMap<Box<str>, Box<[u32]>>>,
}

impl WordCache {
    /// Returns a cache for this tokenizer; `None` if the ids of a word may depend on chance or on the rest of the line.
    pub(super) fn for_tokenizer(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let is_deterministic = match tokenizer.get_model() {
            ModelWrapper::BPE(bpe) => bpe.dropout.is_none(),
            ModelWrapper::Unigram(unigram) => {
                unigram.alpha.is_none() && unigram.nbest_size.is_none()
            }
            ModelWrapper::WordLevel(_) => true,
            ModelWrapper::WordPiece(_) => false,
        };
        let added = tokenizer.get_added_tokens_decoder();
        let is_plain =
            tokenizer.get_post_processor().is_none() && added.values().all(is_user_symbol);
        if !is_deterministic || !is_plain {
            return None;
        }
        let rules = (
            serde_json::to_value(tokenizer.get_normalizer()).ok()?,
            serde_json::to_value(tokenizer.get_pre_tokenizer()).ok()?,
        );
        let kinds = [TokenizerKind::Word, TokenizerKind::Char, TokenizerKind::Bpe];
        let mut layouts = kinds
            .into_iter()
            .flat_map(|kind| [(kind, Case::Keep), (kind, Case::Lower)]);
        let (kind, _) = layouts.find(|&(kind, case)| {
            let config = TokenizerConfig {
                kind,
                case,
                ..TokenizerConfig::default()
            };
            rules == (normalizer(&config), pre_tokenizer(kind))
        })?;
        // A symbol has no whitespace, so it is within a word, but it has several characters.
        let keeps_symbols = added.is_empty() || kind != TokenizerKind::Char;
        keeps_symbols.then(|| Self::new(WordSplit::for_kind(kind), MAX_WORDS))
    }

    fn new(split: WordSplit, max_words: usize) -> Self {
        Self {
            split,
            max_words,
            ids: RwLock::default(),
        }
    }

    /// Returns the ids of a line. Calls `encode` for words that are not in the cache.
    pub(super) fn encode(&self, line: &str, encode: impl Fn(&str) -> Vec<u32>) -> Vec<u32> {
        let mut known = Vec::new();
        let mut missing = Vec::new();
        {
            let cache = self.ids.read().unwrap_or_else(PoisonError::into_inner);
            for word in self.split.split(line) {
                match cache.get(word) {
                    Some(ids) => known.extend_from_slice(ids),
                    None => missing.push((known.len(), word)),
                }
            }
        }
        // Encoding is slow, so it runs without the lock.
        let mut of_line = Vec::with_capacity(known.len() + missing.len());
        let mut unknown = Vec::new();
        let mut from = 0;
        for (position, word) in missing {
            of_line.extend_from_slice(&known[from..position]);
            from = position;
            let ids = encode(word);
            of_line.extend_from_slice(&ids);
            if word.len() <= MAX_WORD_LEN {
                unknown.push((word.into(), ids.into()));
            }
        }
        of_line.extend_from_slice(&known[from..]);
        if !unknown.is_empty() {
            let mut cache = self.ids.write().unwrap_or_else(PoisonError::into_inner);
            if cache.len() + unknown.len() > self.max_words {
                cache.clear();
            }
            cache.extend(unknown);
        }
        of_line
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines_for_tests::mixed_script_lines;
    use crate::{Case, Tokenizer, TokenizerConfig, TokenizerError, TokenizerKind};

    use super::*;

    fn trained(kind: TokenizerKind, case: Case) -> Result<CachedTokenizer, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            case,
            vocab_size: 700,
            ..TokenizerConfig::default()
        };
        let json = Tokenizer::train(&config, mixed_script_lines(300))?.to_json();
        let tokenizer = json.parse().map_err(TokenizerError::Parse)?;
        Ok(CachedTokenizer::new(tokenizer))
    }

    fn check(tokenizer: &CachedTokenizer, line: &str) {
        let ids = tokenizer.encode(line);
        assert_eq!(ids, tokenizer.encode_uncached(line), "{line:?}");
    }

    const CASES: [(TokenizerKind, Case); 7] = [
        (TokenizerKind::Word, Case::Keep),
        (TokenizerKind::Char, Case::Keep),
        (TokenizerKind::Char, Case::Lower),
        (TokenizerKind::Bpe, Case::Keep),
        (TokenizerKind::Bpe, Case::Lower),
        (TokenizerKind::Unigram, Case::Keep),
        (TokenizerKind::Unigram, Case::Lower),
    ];

    #[test]
    fn the_cache_does_not_change_the_ids_of_lines_in_many_scripts() -> Result<(), TokenizerError> {
        let lines = mixed_script_lines(2000);
        for (kind, case) in CASES {
            let tokenizer = trained(kind, case)?;
            assert!(tokenizer.words.is_some(), "{kind}");
            for line in &lines {
                check(&tokenizer, line);
            }
        }
        Ok(())
    }

    #[test]
    fn the_cache_does_not_change_the_ids_of_ascii_lines() -> Result<(), TokenizerError> {
        let tokenizer = trained(TokenizerKind::Char, Case::Lower)?;
        for line in mixed_script_lines(1000) {
            check(&tokenizer, &line.replace(|c: char| !c.is_ascii(), ""));
        }
        Ok(())
    }

    /// Tests every character except ideographs and syllables with a normal form that is defined by rule: alone, between
    /// letters, under combining marks and before them.
    #[test]
    fn no_character_affects_the_next_word() -> Result<(), TokenizerError> {
        let characters = ('\0'..'\u{3100}').chain('\u{f900}'..='\u{ffff}');
        let characters: Vec<char> = characters.chain('\u{1d000}'..'\u{1d200}').collect();
        let tokenizer = trained(TokenizerKind::Bpe, Case::Lower)?;
        for some in characters.chunks(32) {
            let around = some.iter().map(|c| format!("e{c}\u{301} {c}\u{323}a {c}"));
            check(&tokenizer, &around.collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod word_cache_tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json_layout::tokenizer_json;

    #[test]
    fn a_full_cache_is_cleared() {
        let cache = WordCache::new(WordSplit::Words, 3);
        let encode = |word: &str| vec![word.len() as u32];
        for (line, ids, n_words) in [
            ("a bb", vec![1, 2], 2),
            ("a ccc", vec![1, 3], 3),
            ("dddd a", vec![4, 1], 1),
            ("bb dddd", vec![2, 4], 2),
        ] {
            assert_eq!(cache.encode(line, encode), ids);
            let cached = cache.ids.read().unwrap_or_else(PoisonError::into_inner);
            assert_eq!(cached.len(), n_words, "{line}");
        }
    }

    /// Checks whether a tokenizer has a cache after this change of its file.
    fn is_cached(change: impl FnOnce(&mut Value)) -> bool {
        let config = TokenizerConfig::default();
        let model = json!({"type": "BPE", "dropout": null, "unk_token": "<unk>",
            "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,
            "byte_fallback": false, "ignore_merges": false, "vocab": {"<unk>": 0}, "merges": []});
        let mut json = tokenizer_json(&config, &model);
        change(&mut json);
        let tokenizer = json.to_string().parse();
        WordCache::for_tokenizer(&tokenizer.expect("the file is a tokenizer")).is_some()
    }

    #[test]
    fn tokenizers_with_random_or_other_rules_have_no_cache() {
        assert!(is_cached(|_| {}));
        assert!(!is_cached(|json| json["model"]["dropout"] = json!(0.1)));
        assert!(!is_cached(
            |json| json["normalizer"] = json!({"type": "NFC"})
        ));
        assert!(!is_cached(
            |json| json["pre_tokenizer"] = json!({"type": "Metaspace",
            "replacement": "▁", "prepend_scheme": "first", "split": false})
        ));
        assert!(!is_cached(|json| {
            json["added_tokens"] = json!([{"id": 9, "content": "a b", "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false, "special": false}]);
        }));
    }
}
