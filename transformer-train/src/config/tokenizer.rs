//! `[tokenizer]`: the tokenizers that turn text into token ids.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::text::{Case, TokenizerConfig, TokenizerKind};

use crate::config::optional;

/// The tokenizers, which are trained on the training data.
///
/// The keys that begin with `tgt_` need `vocabulary = "separate"`. Without them, the target
/// tokenizer has the settings of the source tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerSettings {
    /// Vocabularies: one for source and target, `joint`, or one for each, `separate`. Default: `joint` (§5.1).
    pub vocabulary: Vocabulary,
    /// Kind of tokens: `word`, `char`, `bpe` or `unigram`. Default: `bpe` (§5.1).
    pub kind: TokenizerKind,
    /// Maximum size of the vocabulary, in tokens, special ones included. Default 37,000 (§5.1).
    pub vocab_size: usize,
    /// Treatment of upper-case letters: `keep` them, or `lower` all text. Default: `keep`.
    pub case: Case,
    /// Writes characters that the vocabulary lacks as bytes, for which it gets 256 tokens, so that no text is unknown.
    /// Needs `kind = "bpe"` or `"unigram"`. Default: false (not in the paper).
    pub byte_fallback: bool,
    /// Texts that are one token wherever they occur, even within a word, and are never split: for example
    /// `["<2de>", "<2fr>"]`. The tags of `data.corpora` are such symbols without being listed here. They are found
    /// before `case` applies, in this spelling. With `case = "lower"`, text that gets this spelling is the symbol too
    /// if `kind = "word"`, or if the symbol has letters and digits only, or punctuation only. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_symbols: Vec<String>,
    /// BPE-dropout: probability of skipping a merge while a training line is tokenized, so that the same line is split
    /// differently every time. Lines get longer, but `training.tokens_per_batch` counts them without it. Needs
    /// `kind = "bpe"`. Default 0 (not in the paper); its authors use 0.1 (Provilkov et al. 2020).
    pub dropout: f64,
    /// Kind of target tokens, for separate vocabularies. Default: `kind`.
    #[serde(with = "optional")]
    #[schemars(with = "Option<TokenizerKind>")]
    pub tgt_kind: Option<TokenizerKind>,
    /// Maximum size of the target vocabulary, in tokens, for separate vocabularies. Default: `vocab_size`.
    #[serde(with = "optional")]
    #[schemars(with = "Option<usize>")]
    pub tgt_vocab_size: Option<usize>,
    /// Treatment of upper-case letters in the target, for separate vocabularies. Default: `case`.
    #[serde(with = "optional")]
    #[schemars(with = "Option<Case>")]
    pub tgt_case: Option<Case>,
}

/// The vocabularies of source and target: one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// One tokenizer, trained on source and target.
    Joint,
    /// One tokenizer for the source and one for the target.
    Separate,
}

/// The configuration of the tokenizers to train.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vocabularies {
    /// One tokenizer for both sides.
    Joint(TokenizerConfig),
    /// One tokenizer for each side.
    Separate {
        /// The source tokenizer.
        src: TokenizerConfig,
        /// The target tokenizer.
        tgt: TokenizerConfig,
    },
}

impl Default for TokenizerSettings {
    fn default() -> Self {
        let TokenizerConfig {
            kind,
            vocab_size,
            case,
            byte_fallback,
            user_symbols,
        } = TokenizerConfig::default();
        Self {
            vocabulary: Vocabulary::Joint,
            kind,
            vocab_size,
            case,
            byte_fallback,
            user_symbols,
            dropout: 0.0,
            tgt_kind: None,
            tgt_vocab_size: None,
            tgt_case: None,
        }
    }
}

impl TokenizerSettings {
    /// Returns one unigram vocabulary of 6000 tokens, which suits tens of thousands of sentences.
    pub fn for_small_data() -> Self {
        Self {
            kind: TokenizerKind::Unigram,
            vocab_size: 6000,
            ..Self::default()
        }
    }

    /// Returns the configuration of each tokenizer.
    pub fn vocabularies(&self) -> Vocabularies {
        let src = TokenizerConfig {
            kind: self.kind,
            vocab_size: self.vocab_size,
            case: self.case,
            byte_fallback: self.byte_fallback,
            user_symbols: self.user_symbols.clone(),
        };
        match self.vocabulary {
            Vocabulary::Joint => Vocabularies::Joint(src),
            Vocabulary::Separate => {
                let tgt = TokenizerConfig {
                    kind: self.tgt_kind.unwrap_or(self.kind),
                    vocab_size: self.tgt_vocab_size.unwrap_or(self.vocab_size),
                    case: self.tgt_case.unwrap_or(self.case),
                    ..src.clone()
                };
                Vocabularies::Separate { src, tgt }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::text::{Tokenizer, UNK};

    use super::*;
    use crate::config::Experiment;
    use crate::tasks::{Split, Task};

    #[test]
    fn target_settings_default_to_those_of_the_source() {
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

    #[test]
    fn tokenizers_of_a_task_have_no_unknown_tokens_in_its_test_data() {
        for task in Task::ALL {
            let train = task.pairs(Split::Train, 5000, 1);
            let src_lines = train.iter().map(|(src, _)| src);
            let tgt_lines = train.iter().map(|(_, tgt)| tgt);
            let trained = |config, lines: Vec<&String>| {
                Tokenizer::train(config, lines).expect("the lines are not blank")
            };
            let (src, tgt) = match Experiment::for_task(task).vocabularies() {
                Vocabularies::Joint(config) => {
                    let joint = trained(&config, src_lines.chain(tgt_lines).collect());
                    (joint.clone(), joint)
                }
                Vocabularies::Separate { src, tgt } => (
                    trained(&src, src_lines.collect()),
                    trained(&tgt, tgt_lines.collect()),
                ),
            };
            for (src_line, tgt_line) in task.pairs(Split::Test, 500, 1) {
                assert!(!src.encode(&src_line).contains(&UNK), "{src_line}");
                assert_eq!(tgt.decode(&tgt.encode(&tgt_line)), tgt_line);
            }
        }
    }
}
