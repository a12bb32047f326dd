//! `[tokenizer]`: how text becomes ids.

use serde::{Deserialize, Serialize};
use transformer_core::text::{Case, TokenizerConfig, TokenizerKind};

use crate::config::optional;
use crate::tasks::Task;

/// Says which tokenizers are trained.
///
/// The `tgt_` keys are for `vocabulary = "separate"`; without them the target side is as the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerSettings {
    /// Whether the two sides share a vocabulary: `joint` or `separate`. Default: `joint` (§5.1).
    pub vocabulary: Vocabulary,
    /// How text is cut: `word`, `char`, `bpe` or `unigram`. Default: `bpe` (§5.1).
    pub kind: TokenizerKind,
    /// Most tokens in the vocabulary, special ones included. Default 37,000 (§5.1).
    pub vocab_size: usize,
    /// What happens to upper-case letters: `keep` or `lower`. Default: `keep`.
    pub case: Case,
    /// Probability that a merge of `bpe` is left out, at each step, where text is trained on: the same line is
    /// cut otherwise each time. `training.tokens_per_batch` counts lines cut without it, so that updates get
    /// larger. Default 0; its authors take 0.1 (Provilkov et al. 2020; not in the paper).
    pub dropout: f64,
    /// How target text is cut, if vocabularies are separate. Default: as `kind`.
    #[serde(with = "optional")]
    pub tgt_kind: Option<TokenizerKind>,
    /// Most tokens in the target vocabulary, if it is separate. Default: as `vocab_size`.
    #[serde(with = "optional")]
    pub tgt_vocab_size: Option<usize>,
    /// What happens to upper-case letters in the target, if vocabularies are separate. Default: as `case`.
    #[serde(with = "optional")]
    pub tgt_case: Option<Case>,
}

/// Says whether the two sides share a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// One tokenizer, trained on both sides.
    Joint,
    /// A tokenizer for each side.
    Separate,
}

/// Holds what the tokenizers of a run are trained from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vocabularies {
    /// One for both sides.
    Joint(TokenizerConfig),
    /// One for each side.
    Separate {
        /// The source side.
        src: TokenizerConfig,
        /// The target side.
        tgt: TokenizerConfig,
    },
}

impl Default for TokenizerSettings {
    fn default() -> Self {
        let TokenizerConfig {
            kind,
            vocab_size,
            case,
        } = TokenizerConfig::default();
        Self {
            vocabulary: Vocabulary::Joint,
            kind,
            vocab_size,
            case,
            dropout: 0.0,
            tgt_kind: None,
            tgt_vocab_size: None,
            tgt_case: None,
        }
    }
}

impl TokenizerSettings {
    /// Returns one unigram vocabulary of 6000 tokens: what tens of thousands of sentences can teach.
    pub fn for_small_data() -> Self {
        Self {
            kind: TokenizerKind::Unigram,
            vocab_size: 6000,
            ..Self::default()
        }
    }

    /// Returns the tokenizers of a built-in task: words and digits for `numbers`, letters otherwise.
    pub fn for_task(task: Task) -> Self {
        let words = Self {
            kind: TokenizerKind::Word,
            case: Case::Lower,
            ..Self::default()
        };
        match task {
            Task::Numbers => Self {
                vocabulary: Vocabulary::Separate,
                vocab_size: 200,
                tgt_kind: Some(TokenizerKind::Char),
                tgt_vocab_size: Some(20),
                ..words
            },
            Task::Reverse | Task::Copy => Self {
                vocab_size: 30,
                ..words
            },
        }
    }

    /// Returns what the tokenizers are trained from.
    pub fn vocabularies(&self) -> Vocabularies {
        let src = TokenizerConfig {
            kind: self.kind,
            vocab_size: self.vocab_size,
            case: self.case,
        };
        match self.vocabulary {
            Vocabulary::Joint => Vocabularies::Joint(src),
            Vocabulary::Separate => {
                let tgt = TokenizerConfig {
                    kind: self.tgt_kind.unwrap_or(self.kind),
                    vocab_size: self.tgt_vocab_size.unwrap_or(self.vocab_size),
                    case: self.tgt_case.unwrap_or(self.case),
                };
                Vocabularies::Separate { src, tgt }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_settings_are_those_of_the_source_unless_given() {
        let settings = TokenizerSettings {
            vocabulary: Vocabulary::Separate,
            kind: TokenizerKind::Unigram,
            vocab_size: 7000,
            tgt_vocab_size: Some(5000),
            ..TokenizerSettings::default()
        };
        let src = TokenizerConfig {
            kind: TokenizerKind::Unigram,
            vocab_size: 7000,
            ..TokenizerConfig::default()
        };
        let tgt = TokenizerConfig {
            vocab_size: 5000,
            ..src.clone()
        };
        assert_eq!(settings.vocabularies(), Vocabularies::Separate { src, tgt });
    }

    #[test]
    fn the_default_is_one_vocabulary_of_37000_byte_pairs() {
        let Vocabularies::Joint(config) = TokenizerSettings::default().vocabularies() else {
            panic!("the paper shares its vocabulary");
        };
        assert_eq!(
            (config.kind, config.vocab_size),
            (TokenizerKind::Bpe, 37_000)
        );
    }
}
