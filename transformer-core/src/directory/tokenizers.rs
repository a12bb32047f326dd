//! [`Tokenizers`]: the vocabulary or vocabularies of a model.

use std::path::Path;

use super::DirectoryError;
use crate::config::{ConfigError, TransformerConfig, Tying};
use crate::text::Tokenizer;

/// File of the tokenizer of both sides.
pub const TOKENIZER: &str = "tokenizer.json";

/// File of the source's tokenizer.
pub const SRC_TOKENIZER: &str = "src_tokenizer.json";

/// File of the target's tokenizer.
pub const TGT_TOKENIZER: &str = "tgt_tokenizer.json";

/// The vocabulary of both sides, or of each.
#[derive(Debug, Clone)]
pub enum Tokenizers {
    /// One vocabulary for source and target (§5.1); the embeddings can be tied.
    Joint(Tokenizer),
    /// Two vocabularies.
    Separate {
        /// The vocabulary of the source.
        src: Tokenizer,
        /// The vocabulary of the target.
        tgt: Tokenizer,
    },
}

impl Tokenizers {
    /// The tokenizer of the source.
    pub const fn src(&self) -> &Tokenizer {
        match self {
            Self::Joint(tokenizer) => tokenizer,
            Self::Separate { src, .. } => src,
        }
    }

    /// The tokenizer of the target.
    pub const fn tgt(&self) -> &Tokenizer {
        match self {
            Self::Joint(tokenizer) => tokenizer,
            Self::Separate { tgt, .. } => tgt,
        }
    }

    /// The tokenizers with the names of their files: one, or that of the source and that of the target.
    pub fn files(&self) -> Vec<(&'static str, &Tokenizer)> {
        match self {
            Self::Joint(tokenizer) => vec![(TOKENIZER, tokenizer)],
            Self::Separate { src, tgt } => vec![(SRC_TOKENIZER, src), (TGT_TOKENIZER, tgt)],
        }
    }

    /// Checks that an id is the same token on both sides where one matrix serves both, which two vocabularies of
    /// one size need not have in common. To be asked before a training: the model is written all the same.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::TyingOfOtherTokens`] with the first id that is not.
    pub fn check_tying(&self, config: &TransformerConfig) -> Result<(), ConfigError> {
        let Self::Separate { src, tgt } = self else {
            return Ok(());
        };
        if config.tying != Tying::All {
            return Ok(());
        }
        let n_tokens = src.vocab_size().max(tgt.vocab_size());
        let of = |side: &Tokenizer, id| side.token(id).unwrap_or_default();
        let ids = (0..).take(n_tokens);
        match ids
            .map(|id| (id, of(src, id), of(tgt, id)))
            .find(|(_, src, tgt)| src != tgt)
        {
            Some((id, src, tgt)) => Err(ConfigError::TyingOfOtherTokens { id, src, tgt }),
            None => Ok(()),
        }
    }

    /// Checks that the configuration was made for these vocabularies. A joint vocabulary needs
    /// both sizes equal. `src` and `tgt` are the files, for the message.
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
