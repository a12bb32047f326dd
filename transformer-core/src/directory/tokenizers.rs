//! [`Tokenizers`]: the vocabulary or vocabularies of a model, and the [`Languages`] that it translates between.

use std::path::Path;

use serde_json::Value;

use super::DirectoryError;
use super::manifest::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER};
use crate::config::{ConfigError, TransformerConfig, Tying};
use crate::text::{LanguageCode, LanguageCodeError, Tokenizer};

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

const SRC: &str = "src_lang";

const TGT: &str = "tgt_lang";

/// The languages of a model, if known.
///
/// They describe the model and do not change translations. They are optional keys of the manifest's `training`;
/// programs that do not know them ignore them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// The language of the source.
    pub src: Option<LanguageCode>,
    /// The language of the target.
    pub tgt: Option<LanguageCode>,
}

impl Languages {
    /// Reads the keys of a manifest's `training`. The error has the key that is not the code of a language.
    pub(super) fn of(training: &Value) -> Result<Self, (&'static str, Option<LanguageCodeError>)> {
        let read = |key| match &training[key] {
            Value::Null => Ok(None),
            Value::String(text) => text.parse().map(Some).map_err(|error| (key, Some(error))),
            _ => Err((key, None)),
        };
        Ok(Self {
            src: read(SRC)?,
            tgt: read(TGT)?,
        })
    }

    /// Writes the known languages into a manifest's `training`, an object, and removes the others.
    pub fn write_to(&self, training: &mut Value) {
        let Some(training) = training.as_object_mut() else {
            return;
        };
        for (key, code) in [(SRC, &self.src), (TGT, &self.tgt)] {
            match code {
                Some(code) => training.insert(key.to_owned(), code.as_str().into()),
                None => training.remove(key),
            };
        }
    }

    /// Returns these languages, and those of `other` where these are not known.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            src: self.src.as_ref().or(other.src.as_ref()).cloned(),
            tgt: self.tgt.as_ref().or(other.tgt.as_ref()).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn languages(src: Option<&str>, tgt: Option<&str>) -> Languages {
        let code = |text: &str| text.parse().expect("it is a code");
        Languages {
            src: src.map(code),
            tgt: tgt.map(code),
        }
    }

    #[test]
    fn what_is_written_is_read_and_other_keys_stay() {
        let mut training = json!({ "scores": 1, "tgt_lang": "fr" });
        languages(Some("pt-BR"), None).write_to(&mut training);
        assert_eq!(training, json!({ "scores": 1, "src_lang": "pt-BR" }));
        let read = Languages::of(&training).map_err(|(key, _)| key);
        assert_eq!(read, Ok(languages(Some("pt-BR"), None)));
    }

    #[test]
    fn a_training_without_languages_has_none() {
        for training in [json!(null), json!([1]), json!({ "src_lang": null })] {
            let read = Languages::of(&training).map_err(|(key, _)| key);
            assert_eq!(read, Ok(Languages::default()));
        }
    }

    #[test]
    fn unknown_languages_are_those_of_the_other() {
        let found = languages(Some("en"), None).or(&languages(Some("fr"), Some("de")));
        assert_eq!(found, languages(Some("en"), Some("de")));
    }
}
