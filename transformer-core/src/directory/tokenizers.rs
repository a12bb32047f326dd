//! [`Tokenizers`]: the vocabulary or vocabularies of a model.

use std::path::Path;

use super::DirectoryError;
use super::format::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER};
use crate::config::{ConfigError, TransformerConfig, Tying};
use crate::text::Tokenizer;

/// One vocabulary for both sides, or one for each.
#[derive(Debug, Clone)]
pub enum Tokenizers {
    /// One vocabulary for source and target (§5.1); the embeddings can be tied.
    Joint(Tokenizer),
    /// Two vocabularies.
    Separate {
        /// Vocabulary of the source.
        src: Tokenizer,
        /// Vocabulary of the target.
        tgt: Tokenizer,
    },
}

impl Tokenizers {
    /// Returns the source tokenizer.
    pub const fn src(&self) -> &Tokenizer {
        match self {
            Self::Joint(tokenizer) => tokenizer,
            Self::Separate { src, .. } => src,
        }
    }

    /// Returns the target tokenizer.
    pub const fn tgt(&self) -> &Tokenizer {
        match self {
            Self::Joint(tokenizer) => tokenizer,
            Self::Separate { tgt, .. } => tgt,
        }
    }

    /// Returns the tokenizers with their file names: the joint one, or source and target.
    pub fn files(&self) -> Vec<(&'static str, &Tokenizer)> {
        match self {
            Self::Joint(tokenizer) => vec![(TOKENIZER, tokenizer)],
            Self::Separate { src, tgt } => vec![(SRC_TOKENIZER, src), (TGT_TOKENIZER, tgt)],
        }
    }

    /// Checks that every id is the same token on both sides if both use one matrix.
    ///
    /// Two vocabularies of equal size may have different tokens. Call this before training; writing a model does not
    /// check it.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::TyingOfOtherTokens`] with the first id that is not the same token on both sides.
    pub fn check_tying(&self, config: &TransformerConfig) -> Result<(), ConfigError> {
        let Self::Separate { src, tgt } = self else {
            return Ok(());
        };
        if config.tying != Tying::All {
            return Ok(());
        }
        let n_tokens = src.vocab_size().max(tgt.vocab_size());
        let token = |side: &Tokenizer, id| side.token(id).unwrap_or_default();
        let ids = (0..).take(n_tokens);
        match ids
            .map(|id| (id, token(src, id), token(tgt, id)))
            .find(|(_, src, tgt)| src != tgt)
        {
            Some((id, src, tgt)) => Err(ConfigError::TyingOfOtherTokens { id, src, tgt }),
            None => Ok(()),
        }
    }

    /// Checks that the vocabularies have the sizes in the config. Their files `src` and `tgt` appear in the error
    /// message.
    pub(super) fn check(
        &self,
        config: &TransformerConfig,
        src: &Path,
        tgt: &Path,
    ) -> Result<(), DirectoryError> {
        let sides = [
            (self.src(), "src_vocab_size", config.src_vocab_size, src),
            (self.tgt(), "tgt_vocab_size", config.tgt_vocab_size, tgt),
        ];
        for (tokenizer, field, expected, path) in sides {
            let found = tokenizer.vocab_size();
            if found != expected {
                let path = path.to_owned();
                return Err(DirectoryError::VocabSize {
                    path,
                    field,
                    found,
                    expected,
                });
            }
        }
        Ok(())
    }
}
