//! [`CachedTokenizer`]: a tokenizer of the `tokenizers` crate that remembers the ids of words.

use tokenizers::Encoding;

use super::special::{UNK, is_special};
use super::word_cache::WordCache;

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
