//! `[finetune]`: a model to go on from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::config::{ConfigError, Experiment, read};

/// Says which trained model a run begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FinetuneSettings {
    /// A model directory, or the folder of a run, to begin with: its weights, tokenizers and shape. `[model]` then
    /// chooses the recipe (`preset`) and dropout, and `[tokenizer]` only its own `dropout`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
}

/// Refuses what has no part in a model that goes on from another.
pub(super) fn validate(experiment: &Experiment) -> Result<(), ConfigError> {
    const FREE: [&str; 3] = ["dropout", "attention_dropout", "activation_dropout"];
    let shape = experiment.model.overrides.keys();
    let shape = shape.filter(|key| !FREE.contains(&key.as_str()));
    let embeddings = &experiment.embeddings;
    let vectors = [
        ("embeddings.src_word_vectors", &embeddings.src_word_vectors),
        ("embeddings.tgt_word_vectors", &embeddings.tgt_word_vectors),
    ];
    let vectors = vectors.into_iter().filter(|(_, path)| path.is_some());
    let mut fixed = shape
        .map(|key| format!("model.{key}"))
        .chain(vectors.map(|(key, _)| key.to_owned()));
    let first = fixed.next();
    first.map_or(Ok(()), |key| Err(ConfigError::FixedByModel { key }))
}

/// Refuses, when a run begins, what of `[tokenizer]` has no part in it: keys that are not those of the preset, but for
/// subword dropout. A run that goes on has the settings that it began with.
pub(crate) fn check_tokenizer(experiment: &Experiment) -> Result<(), ConfigError> {
    if experiment.finetune.model.is_none() {
        return Ok(());
    }
    let table = |experiment: &Experiment| Table::try_from(&experiment.tokenizer);
    let given = table(experiment).map_err(ConfigError::Write)?;
    let preset = table(&read::defaults(experiment)).map_err(ConfigError::Write)?;
    let mut others = given.iter().filter(|(key, value)| {
        key.as_str() != "dropout" && preset.get(key.as_str()) != Some(value)
    });
    others.next().map_or(Ok(()), |(key, _)| {
        let key = format!("tokenizer.{key}");
        Err(ConfigError::FixedByModel { key })
    })
}
