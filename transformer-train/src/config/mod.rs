//! The experiment: everything that a training run depends on, in one TOML file.

mod data;
mod documented;
mod embeddings;
mod error;
mod finetune;
mod given;
mod length_penalty;
mod model;
mod nearest;
mod optional;
mod read;
mod recipe;
mod setting;
mod tokenizer;
mod training;
mod validate;

use std::path::Path;

use serde::{Deserialize, Serialize};
use transformer_core::Preset;

pub use data::{CorpusSettings, DataSettings, DataSource, Store};
pub use embeddings::EmbeddingSettings;
pub use error::ConfigError;
pub use finetune::FinetuneSettings;
pub(crate) use finetune::check_tokenizer;
pub use given::Given;
pub use model::ModelSettings;
pub(crate) use model::check_positions;
pub(crate) use nearest::nearest;
pub use tokenizer::{TokenizerSettings, Vocabularies, Vocabulary};
pub use training::{BestBy, ComputePrecision, TrainingSettings, ValidationSettings};

use crate::tasks::Task;

/// Says what to train on, what to train and how.
///
/// `Default` is the paper's base model and recipe, without data; [`for_task`](Self::for_task) has
/// settings with which a built-in task is learnt in minutes. A file needs only the keys that differ:
///
/// ```toml
/// [data]
/// src = "train.de.gz"
/// tgt = "train.en.gz"
///
/// [model]
/// preset = "tiny"
/// dropout = 0.3
/// ```
///
/// A key without which one can do, for example `training.clip_norm`, takes `"none"` where the preset or the
/// task has a value for it.
///
/// # Example
///
/// ```
/// use transformer_train::config::Experiment;
/// use transformer_train::tasks::Task;
///
/// let experiment = Experiment::for_task(Task::Copy);
/// assert_eq!(experiment.validate(), Ok(()));
/// let text = experiment.to_toml()?;
/// assert!(text.contains("task = \"copy\""));
/// # Ok::<(), transformer_train::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// What to train on: `[data]`.
    pub data: DataSettings,
    /// How text becomes ids: `[tokenizer]`.
    pub tokenizer: TokenizerSettings,
    /// What to train: `[model]`.
    pub model: ModelSettings,
    /// Which model it goes on from: `[finetune]`.
    pub finetune: FinetuneSettings,
    /// What its embeddings start from: `[embeddings]`.
    pub embeddings: EmbeddingSettings,
    /// How to train it: `[training]`.
    pub training: TrainingSettings,
    /// How to look at it meanwhile: `[validation]`.
    pub validation: ValidationSettings,
}

impl Experiment {
    /// Returns the settings with which a built-in task is learnt.
    pub fn for_task(task: Task) -> Self {
        Self {
            data: DataSettings::for_task(task),
            tokenizer: TokenizerSettings::for_task(task),
            model: ModelSettings::for_task(task),
            finetune: FinetuneSettings::default(),
            embeddings: EmbeddingSettings::default(),
            training: TrainingSettings::for_task(task),
            validation: ValidationSettings::for_task(task),
        }
    }

    /// Returns the settings that go with a model: the paper's (§5.2, §6.1; Table 3), and for `tiny`,
    /// `multi30k` and `iwslt` those with which smaller data is learnt. They name no data; in `[data]` only
    /// `numbers` has values that are not the defaults, those of its task.
    pub fn for_preset(preset: Preset) -> Self {
        recipe::of(preset)
    }

    /// Reads a TOML file. A key that it lacks has the default of the task that the file names, or of
    /// the preset when it names none.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] with file and line for a file that cannot be read, a key that is not
    /// known or a value of the wrong kind. Whether values fit together is for
    /// [`validate`](Self::validate).
    pub fn from_toml(path: &Path) -> Result<Self, ConfigError> {
        read::read(path)
    }

    /// Reads the text of a TOML file; `name` is what errors call it.
    ///
    /// # Errors
    ///
    /// As [`from_toml`](Self::from_toml).
    pub fn from_toml_text(text: &str, name: &str) -> Result<Self, ConfigError> {
        read::parse(text, name)
    }

    /// Writes every setting in effect as a TOML file, which reads back as this experiment.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Write`] for a path that is not UTF-8 or a seed that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(ConfigError::Write)
    }

    /// Writes every setting as a TOML file with its meaning above it, also those that are not set, as
    /// comments; it reads back as this experiment.
    ///
    /// # Errors
    ///
    /// As [`to_toml`](Self::to_toml), or when a key of the model has no meaning.
    pub fn to_documented_toml(&self) -> Result<String, ConfigError> {
        documented::to_toml(self)
    }

    /// Checks that the settings have a meaning, each and together. Files are not looked at, and of the
    /// model only what concerns training.
    ///
    /// # Errors
    ///
    /// Returns the first [`ConfigError`] found; its text names the key and what to choose.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::validate(self)
    }
}
