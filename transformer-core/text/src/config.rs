//! [`TokenizerConfig`]: the settings for training a tokenizer.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The way in which text is split into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TokenizerKind {
    /// Words separated by whitespace; a word outside the vocabulary is `<unk>`.
    Word,
    /// Single characters, spaces included.
    Char,
    /// Byte pair encoding: repeatedly merges the most frequent pair of adjacent tokens (Sennrich et al.
    /// 2016, <https://arxiv.org/abs/1508.07909>). The paper used it for English–German.
    Bpe,
    /// The pieces of the unigram language model that gives the text the highest likelihood (Kudo 2018,
    /// <https://arxiv.org/abs/1804.10959>).
    Unigram,
}

impl fmt::Display for TokenizerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The treatment of upper-case letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Letters stay unchanged.
    Keep,
    /// Letters become lower case before anything else. Decoding does not restore the case.
    Lower,
}

/// The settings of [`Tokenizer::train`](super::Tokenizer::train).
///
/// # Example
/// ```
/// use transformer_text::{TokenizerConfig, TokenizerKind};
/// let config = TokenizerConfig {
///     kind: TokenizerKind::Unigram,
///     vocab_size: 6_000,
///     ..TokenizerConfig::default()
/// };
/// assert_eq!(config.kind.to_string(), "unigram");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// The way in which text is split into tokens. Default `bpe` (§5.1).
    pub kind: TokenizerKind,
    /// Maximum number of tokens, including special tokens. Default 37000 (§5.1). Small texts give smaller vocabularies.
    pub vocab_size: usize,
    /// The treatment of upper-case letters. Default `keep`.
    pub case: Case,
    /// If true, BPE and unigram write characters that are not in the vocabulary as the bytes of their UTF-8, for which
    /// the vocabulary gets 256 tokens: `<0x00>` to `<0xFF>`, as in SentencePiece. Then no text is unknown. Default
    /// `false`.
    pub byte_fallback: bool,
    /// Texts that are always one token, wherever they occur in a line, even within a word: for example `<2de>`, which
    /// requests a language. They are found before normalization, so their case matters. But text that normalization
    /// turns into a word, character or piece with this very spelling is encoded as the symbol too: with [`Case::Lower`]
    /// `DE` as the symbol `de`, and for [`TokenizerKind::Word`] `<2DE>` as `<2de>`. In the other kinds no symbol of
    /// punctuation and letters, such as `<2de>`, is affected. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_symbols: Vec<String>,
}

impl Default for TokenizerConfig {
    /// Returns the settings of the paper's English–German models (§5.1).
    fn default() -> Self {
        Self {
            kind: TokenizerKind::Bpe,
            vocab_size: 37_000,
            case: Case::Keep,
            byte_fallback: false,
            user_symbols: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_in_lower_case() -> Result<(), serde_json::Error> {
        let config: TokenizerConfig =
            serde_json::from_str(r#"{"kind": "unigram", "case": "lower"}"#)?;
        assert_eq!(config.kind, TokenizerKind::Unigram);
        assert_eq!(config.case, Case::Lower);
        assert_eq!(config.vocab_size, 37_000);
        Ok(())
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<TokenizerConfig>(r#"{"vocabsize": 5}"#).is_err());
    }
}
