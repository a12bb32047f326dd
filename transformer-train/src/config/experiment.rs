//! [`Experiment`]: every setting of a training run, with its small sections.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::config::AdapterConfig;
use transformer_core::text::TokenizerConfig;

use crate::config::{
    ConfigError, DataSettings, ModelSettings, TokenizerSettings, TrainingSettings,
    ValidationSettings, Vocabularies, optional,
};

/// Every setting of a training run: data, tokenizer, model, training and validation.
///
/// `Default` is the paper's base model and recipe, without data. [`for_task`](Self::for_task) returns settings with
/// which a built-in task is learned in minutes. A file needs only the keys that differ from the defaults:
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
/// An optional key, for example `training.clip_norm`, is unset with `"none"` where the preset or the task sets it. A
/// file of this name is `./none`.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// The text to train and validate on.
    pub data: DataSettings,
    /// The tokenizers, which are trained on that text.
    pub tokenizer: TokenizerSettings,
    /// The model: a preset and its changes.
    pub model: ModelSettings,
    /// A trained model to start from.
    pub finetune: FinetuneSettings,
    /// Low-rank adapters, which are trained instead of the matrices of that model.
    pub adapters: AdapterConfig,
    /// Initial values of the embeddings.
    pub embeddings: EmbeddingSettings,
    /// The optimizer, its schedule and its batches.
    pub training: TrainingSettings,
    /// Measuring the model, during training and at its end.
    pub validation: ValidationSettings,
    /// Files for people who watch the run.
    pub report: ReportSettings,
}

/// A trained model to start from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FinetuneSettings {
    /// Model directory, or folder of a run, whose weights, tokenizers and model shape the run
    /// starts from. In `[model]`, only `preset` (for its training recipe) and the dropout keys can
    /// then be set; in `[tokenizer]`, only `dropout`. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub model: Option<PathBuf>,
}

/// Initial values of the embeddings, which can be kept during training.
///
/// Tied matrices are one parameter: a setting for one of them applies to all that are tied to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// File of pretrained word vectors for the source tokens, in the text format of word2vec or
    /// GloVe, plain or gzip, with `model.d_model` values per word. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub src_word_vectors: Option<PathBuf>,
    /// File of pretrained word vectors for the target tokens. Default: none.
    #[serde(deserialize_with = "optional::deserialize")]
    pub tgt_word_vectors: Option<PathBuf>,
    /// Scales word vectors to the root mean square of new embeddings, `1/√d_model`. Pretrained vectors are often
    /// larger, and then outweigh the position encodings. Default: `true`.
    pub rescale: bool,
    /// Keeps the initial values of the source embedding during training. Default: `false`.
    pub freeze_src: bool,
    /// Keeps the initial values of the target embedding during training. Default: `false`.
    pub freeze_tgt: bool,
}

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            src_word_vectors: None,
            tgt_word_vectors: None,
            rescale: true,
            freeze_src: false,
            freeze_tgt: false,
        }
    }
}

/// Files for people who watch a run, beside `metrics.csv` and `curve.svg`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// Event file of TensorBoard in the folder of the run: `off`, `scalars` or `histograms`. Default: `scalars`.
    pub tensorboard: TensorBoard,
}

/// The content of the event file of TensorBoard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TensorBoard {
    /// No event file.
    Off,
    /// The metrics of every interval, and the sentences that are shown with their translations.
    #[default]
    Scalars,
    /// The same, and at every validation a histogram of each weight matrix: about a kilobyte each.
    Histograms,
}

impl Experiment {
    /// Returns the same experiment with every size of the model, which a run writes into its folder.
    /// A model that is trained further has its own.
    pub(crate) fn resolved(&self) -> Result<Self, ConfigError> {
        if self.finetune.model.is_some() {
            return Ok(self.clone());
        }
        Ok(Self {
            model: self.model.resolved(self.tokenizer.vocabulary)?,
            ..self.clone()
        })
    }

    /// Returns the configuration of each tokenizer to train; the tags of the corpora are among the
    /// user-defined symbols of their side.
    pub fn vocabularies(&self) -> Vocabularies {
        let add = |config: &mut TokenizerConfig, tags: Vec<String>| {
            for tag in tags {
                if !config.user_symbols.contains(&tag) {
                    config.user_symbols.push(tag);
                }
            }
        };
        let src_tags = self.data.tags_of(|tags| &tags.src);
        let tgt_tags = self.data.tags_of(|tags| &tags.tgt);
        let mut vocabularies = self.tokenizer.vocabularies();
        match &mut vocabularies {
            Vocabularies::Joint(config) => add(config, [src_tags, tgt_tags].concat()),
            Vocabularies::Separate { src, tgt } => {
                add(src, src_tags);
                add(tgt, tgt_tags);
            }
        }
        vocabularies
    }
}
