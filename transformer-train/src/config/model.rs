//! `[model]`: the model to train.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::config::{Positions, Tying};
use transformer_core::{Preset, TransformerConfig};

use crate::config::{ConfigError, Vocabulary, optional, read, schema};

/// A preset, and the keys that override it.
///
/// Every key but `preset` is a field of [`TransformerConfig`] and overrides the value of the preset. The vocabulary
/// sizes cannot be set: they follow from the tokenizers. Optional keys, for example `d_k`, are unset with `"none"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct ModelSettings {
    /// Model and training recipe that provide the defaults of all other keys: `numbers`, `tiny`, `multi30k`, `iwslt`,
    /// `base`, `big`, or a row of Table 3, such as `a-h1`. Default: `base` (Table 3).
    pub preset: Preset,
    /// The keys that override the preset, as written in the file. Default: none.
    #[serde(flatten)]
    #[schemars(with = "TransformerConfig")]
    pub overrides: toml::Table,
}

/// The keys that `"none"` unsets.
pub(super) const OPTIONAL: [&str; 4] = ["d_k", "d_v", "encoder_window", "decoder_window"];

impl ModelSettings {
    pub(super) fn apply(model: &mut toml::Table, overrides: toml::Table) {
        for (key, value) in overrides {
            match OPTIONAL.contains(&key.as_str()) && optional::is_none(&value) {
                true => model.remove(&key),
                false => model.insert(key, value),
            };
        }
    }

    /// Returns the model's configuration for these vocabulary sizes.
    ///
    /// A preset with tied embeddings ties as many matrices as the vocabularies allow: all three
    /// with a joint vocabulary (§3.4), otherwise the two of the decoder.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::InvalidModelKey`] when an override is not a field of [`TransformerConfig`], or
    /// its value has the wrong type.
    pub fn config(
        &self,
        src_vocab_size: usize,
        tgt_vocab_size: usize,
        vocabulary: Vocabulary,
    ) -> Result<TransformerConfig, ConfigError> {
        let preset = self.preset.config(src_vocab_size, tgt_vocab_size);
        let config = TransformerConfig {
            tying: match (preset.tying, vocabulary) {
                (Tying::None, _) => Tying::None,
                (_, Vocabulary::Joint) => Tying::All,
                (_, Vocabulary::Separate) => Tying::Decoder,
            },
            ..preset
        };
        self.override_in(&config)
    }

    /// Returns the same model with every key written out, so that it does not depend on what a later
    /// version of the program makes of the preset.
    pub(super) fn resolved(&self, vocabulary: Vocabulary) -> Result<Self, ConfigError> {
        Ok(Self {
            preset: self.preset,
            overrides: every_key(&self.config(1, 1, vocabulary)?)?,
        })
    }

    pub(crate) fn override_in(
        &self,
        config: &TransformerConfig,
    ) -> Result<TransformerConfig, ConfigError> {
        let mut table = toml::Table::try_from(config).map_err(ConfigError::Write)?;
        Self::apply(&mut table, self.overrides.clone());
        table
            .try_into()
            .map_err(|error: toml::de::Error| ConfigError::InvalidModelKey {
                reason: error.message().to_owned(),
            })
    }
}

/// Returns a model with every key written out: with `"none"`, or the default of a key that saved models leave out with
/// it.
pub(super) fn every_key(config: &TransformerConfig) -> Result<toml::Table, ConfigError> {
    let config = toml::Table::try_from(config).map_err(ConfigError::Write)?;
    let schema = schema::settings();
    let keys = &schema["properties"]["model"]["properties"];
    let with_value = |key: String| {
        let value = config.get(&key).cloned();
        let value = value.unwrap_or_else(|| schema::first_value(&keys[&key]));
        (key, value)
    };
    Ok(read::model_keys().into_iter().map(with_value).collect())
}

/// Checks that the model can be trained: sources have EOS, and learned positions suffice for the longest sentence.
pub(crate) fn check_sequences(
    config: &TransformerConfig,
    max_len: usize,
) -> Result<(), ConfigError> {
    if config.src_without_eos {
        return Err(ConfigError::SourcesWithoutEos);
    }
    let max_positions = config.max_positions;
    // A source has EOS and a target has BOS in addition to its `max_len` tokens.
    if config.positions == Positions::Learned && max_positions <= max_len {
        return Err(ConfigError::TooSmallForSentences {
            key: "model.max_positions",
            value: max_positions,
            max_len,
        });
    }
    Ok(())
}
