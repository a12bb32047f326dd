//! `[model]`: what to train.

use serde::{Deserialize, Serialize};
use transformer_core::config::{Positions, Tying};
use transformer_core::{Preset, TransformerConfig};

use crate::config::{ConfigError, Vocabulary, optional};
use crate::tasks::Task;

/// Names a model, and says in what it differs.
///
/// Every key but `preset` is one of `TransformerConfig` and replaces what the preset has. Vocabulary
/// sizes are not among them: they come from the tokenizers. What a preset need not have, `d_k` for
/// example, is taken back with `"none"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// The model to start from: `numbers`, `tiny`, `multi30k`, `iwslt`, `base`, `big` or any other
    /// [`Preset`]. Default: `base` (Table 3).
    pub preset: Preset,
    /// The keys that replace the preset's, as they stand in the file. Default: none.
    #[serde(flatten)]
    pub overrides: toml::Table,
}

/// The keys that a model need not have.
const OPTIONAL: [&str; 4] = ["d_k", "d_v", "encoder_window", "decoder_window"];

impl ModelSettings {
    /// Returns the model with which a built-in task is learnt.
    pub fn for_task(task: Task) -> Self {
        match task {
            Task::Numbers | Task::Reverse | Task::Copy => Self {
                preset: Preset::Numbers,
                ..Self::default()
            },
        }
    }

    /// Puts keys over those of a model.
    pub(super) fn put_over(model: &mut toml::Table, overrides: toml::Table) {
        for (key, value) in overrides {
            match OPTIONAL.contains(&key.as_str()) && optional::is_none(&value) {
                true => model.remove(&key),
                false => model.insert(key, value),
            };
        }
    }

    /// Returns a model with every key that may replace a preset's.
    pub(super) fn every_key() -> Result<toml::Table, ConfigError> {
        // A key that is `None` is not written.
        let full = TransformerConfig {
            d_k: Some(1),
            d_v: Some(1),
            encoder_window: Some(1),
            decoder_window: Some(1),
            ..TransformerConfig::default()
        };
        toml::Table::try_from(full).map_err(ConfigError::Write)
    }

    /// Returns the model's config for vocabularies of these sizes.
    ///
    /// A preset that ties anything ties whatever the vocabularies allow: all three matrices of a joint
    /// vocabulary (§3.4), the decoder's two otherwise.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Model`] when an override is not a key of `TransformerConfig`, or its value
    /// is of the wrong kind.
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
        self.over(&config)
    }

    /// Returns a model's config with the keys of `[model]` in place of its own.
    pub(crate) fn over(
        &self,
        config: &TransformerConfig,
    ) -> Result<TransformerConfig, ConfigError> {
        let table = toml::Table::try_from(config);
        let merged = table.and_then(|mut table| {
            Self::put_over(&mut table, self.overrides.clone());
            toml::to_string(&table)
        });
        let text = merged.map_err(ConfigError::Write)?;
        toml::from_str(&text).map_err(|error| ConfigError::Model {
            reason: error.message().to_owned(),
        })
    }
}

/// Refuses learned positions that end before the longest line.
pub(crate) fn check_positions(
    config: &TransformerConfig,
    max_len: usize,
) -> Result<(), ConfigError> {
    let max_positions = config.max_positions;
    // A source has its end and a target its beginning beside the tokens of the line.
    if config.positions == Positions::Learned && max_positions <= max_len {
        return Err(ConfigError::TooFewPositions {
            max_positions,
            max_len,
        });
    }
    Ok(())
}
