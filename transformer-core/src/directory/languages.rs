//! [`Languages`]: the source and the target language of a model.

use serde_json::Value;

use crate::text::{LanguageCode, LanguageCodeError};

/// The key of the manifest's `training` with the source language.
const SRC: &str = "src_lang";

/// The key of the manifest's `training` with the target language.
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
