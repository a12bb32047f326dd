//! Which tokenizer to train: [`TokenizerConfig`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// How text is cut into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenizerKind {
    /// Words between whitespace; a word outside the vocabulary is `<unk>`.
    Word,
    /// Single characters, spaces included.
    Char,
    /// Byte pair encoding: the most frequent pair of neighbors becomes one token, again and again
    /// (Sennrich et al. 2016, <https://arxiv.org/abs/1508.07909>). What the paper used for
    /// English–German.
    Bpe,
    /// The pieces under which a unigram language model explains the text best (Kudo 2018,
    /// <https://arxiv.org/abs/1804.10959>).
    Unigram,
}

impl fmt::Display for TokenizerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "word",
            Self::Char => "char",
            Self::Bpe => "bpe",
            Self::Unigram => "unigram",
        })
    }
}

/// What happens to upper-case letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Letters stay as they are.
    Keep,
    /// Every letter becomes lower case before anything else; decoding does not bring it back.
    Lower,
}

/// Describes the tokenizer that [`Tokenizer::train`](super::Tokenizer::train) makes.
///
/// # Example
/// ```
/// use transformer_core::text::{TokenizerConfig, TokenizerKind};
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
    /// How text is cut into tokens; default `bpe` (§5.1).
    pub kind: TokenizerKind,
    /// The most tokens that the vocabulary may hold, the special ones included; default 37000
    /// (§5.1). Text that supports fewer gives a smaller vocabulary.
    pub vocab_size: usize,
    /// What happens to upper-case letters; default `keep`.
    pub case: Case,
}

impl Default for TokenizerConfig {
    /// The vocabulary of the paper's English–German models (§5.1).
    fn default() -> Self {
        Self {
            kind: TokenizerKind::Bpe,
            vocab_size: 37_000,
            case: Case::Keep,
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
