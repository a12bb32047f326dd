//! The origin of weights and tokenizers: a fresh start, perhaps with word vectors, a trained model that is trained further,
//! or the run in the folder.

use std::path::Path;

use transformer_core::config::AdapterConfig;
use transformer_core::directory::{Languages, ModelDirectory, Tokenizers};
use transformer_core::import::{WordVectors, WordVectorsError};
use transformer_core::text::Tokenizer;
use transformer_core::{Transformer, TransformerConfig};

use super::folder::RunFolder;
use super::trained_tokens::TrainedTokens;
use crate::checkpoint::SavedState;
use crate::config::{EmbeddingSettings, Experiment, check_sequences, check_tokenizer};
use crate::error::TrainError;
use crate::progress::LogFn;

pub(crate) struct InitialState {
    pub(super) is_fresh: bool,
    pub(super) tokenizers: Option<Tokenizers>,
    /// The trained model that provides the config and the tokenizers.
    pub(super) base: Option<ModelDirectory>,
    /// The languages by which the text is cleaned: those that the run began with.
    pub(super) cleaned_as: Languages,
}

impl InitialState {
    /// Reads the trained model of a fresh run, if the experiment has one, or the published model of a resumed run, if it
    /// can be read.
    pub(crate) fn new(
        experiment: &Experiment,
        folder: &RunFolder,
        is_resumed: bool,
    ) -> Result<Self, TrainError> {
        let published = match is_resumed {
            true => folder.published(),
            false => {
                check_tokenizer(experiment)?;
                None
            }
        };
        let known = published.as_ref().map(|it| it.tokenizers().clone());
        let base = base(experiment, published)?;
        if !is_resumed && base.is_some() && is_of(experiment, &folder.directory) {
            let path = folder.directory.clone();
            return Err(TrainError::OwnModel { path });
        }
        let cleaned_as = match is_resumed {
            true => folder.trained_with(SavedState::newest(&folder.checkpoints).as_ref())?,
            false => experiment.clone(),
        };
        Ok(Self {
            cleaned_as: cleaned_as.data.languages(),
            is_fresh: !is_resumed,
            tokenizers: known.or_else(|| base.as_ref().map(|it| it.tokenizers().clone())),
            base,
        })
    }

    /// Returns the settings of the initial embeddings; a resumed run has its embeddings in its checkpoint.
    pub(super) fn embeddings(&self, experiment: &Experiment) -> EmbeddingSettings {
        let settings = experiment.embeddings.clone();
        match self.is_fresh {
            true => settings,
            false => EmbeddingSettings {
                src_word_vectors: None,
                tgt_word_vectors: None,
                ..settings
            },
        }
    }
}

/// Opens the model that the experiment continues to train, if any.
///
/// `published` is the model of a resumed run: it has the same tokenizers and shape, so the first model is no longer
/// needed.
fn base(
    experiment: &Experiment,
    published: Option<ModelDirectory>,
) -> Result<Option<ModelDirectory>, TrainError> {
    let Some(path) = &experiment.finetune.model else {
        return Ok(None);
    };
    let base = match published {
        Some(published) => published,
        None => ModelDirectory::open(path)?,
    };
    let (path, tokenizer) = (path.clone(), base.tokenizers().tgt());
    match (tokenizer.languages(), tokenizer.sentence_start()) {
        (Some(_), _) => Err(TrainError::Multilingual { path }),
        (None, Some(_)) => Err(TrainError::Bart { path }),
        (None, None) => Ok(Some(base)),
    }
}

/// Returns whether the model that the experiment continues to train is the one of the run in this folder.
fn is_of(experiment: &Experiment, folder: &Path) -> bool {
    let model = experiment.finetune.model.as_ref();
    let model = model.and_then(|model| model.canonicalize().ok());
    let paths = [folder.to_owned(), folder.join("model")];
    let mut paths = paths.iter().filter_map(|path| path.canonicalize().ok());
    model.is_some_and(|model| paths.any(|path| path == model))
}

/// Returns a model with new adapters, if there are any, and its matrices frozen in that case. `tokens` are the tokens
/// with trained embeddings; without them, the tokens are in a checkpoint.
pub(super) fn with_adapters(
    model: Transformer,
    adapters: &AdapterConfig,
    tokens: Option<TrainedTokens>,
) -> Transformer {
    if !adapters.is_on() {
        return model;
    }
    let model = model.with_adapters(adapters);
    if adapters.trained_tokens == 0 {
        return model;
    }
    let tokens = tokens.unwrap_or_else(|| TrainedTokens::placeholder(adapters.trained_tokens));
    model.with_trained_tokens(&tokens.src, &tokens.tgt)
}

pub(super) fn size(config: &TransformerConfig, adapters: &AdapterConfig) -> String {
    let n_parameters = config.parameter_count();
    let size = format!("model       {n_parameters} parameters");
    if !adapters.is_on() {
        return size;
    }
    let n_trained = adapters.parameter_count(config);
    let percent = 100.0 * n_trained as f64 / n_parameters as f64;
    let mut parts = vec![format!("adapters of rank {}", adapters.rank)];
    if adapters.trained_tokens > 0 {
        parts.push(format!("the vectors of {} tokens", adapters.trained_tokens));
    }
    if adapters.train_biases {
        parts.push("all biases".to_owned());
    }
    if adapters.train_norms {
        parts.push("all normalizations".to_owned());
    }
    let parts = parts.join(", ");
    format!("{size}; trained: {n_trained} ({percent:.1}%), {parts}")
}

/// Returns the languages of the experiment, or those of the model that it continues to train.
pub(super) fn languages(experiment: &Experiment, base: Option<&ModelDirectory>) -> Languages {
    let languages = experiment.data.languages();
    match base {
        Some(base) => languages.or(base.languages()),
        None => languages,
    }
}

/// Returns and logs the config of a model that is trained further, with the experiment's dropout.
pub(super) fn config(
    experiment: &Experiment,
    base: &TransformerConfig,
    log: &LogFn,
) -> Result<TransformerConfig, TrainError> {
    let config = experiment.model.override_in(base)?;
    config.validate()?;
    check_sequences(&config, experiment.data.max_len)?;
    if let Some(path) = &experiment.finetune.model {
        log(&format!(
            "finetuning  {}: {}+{} layers, d_model {}",
            path.display(),
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_model
        ));
    }
    Ok(config)
}

pub(crate) struct InitialEmbeddings {
    settings: EmbeddingSettings,
    src: Option<WordVectors>,
    tgt: Option<WordVectors>,
}

impl InitialEmbeddings {
    /// Reads the files, and logs the number of tokens with a vector.
    pub(crate) fn read(
        settings: &EmbeddingSettings,
        config: &TransformerConfig,
        tokenizers: &Tokenizers,
        log: &LogFn,
    ) -> Result<Self, WordVectorsError> {
        let read = |path: Option<&Path>, tokenizer: &Tokenizer, side: &str| {
            let Some(path) = path else { return Ok(None) };
            let vectors = vectors(path, tokenizer, settings, config.d_model)?;
            let (n_found, n_tokens) = (vectors.n_found(), tokenizer.vocab_size());
            log(&format!(
                "embeddings  {n_found} of {n_tokens} {side} tokens have a word vector"
            ));
            Ok::<_, WordVectorsError>(Some(vectors))
        };
        let src = read(
            settings.src_word_vectors.as_deref(),
            tokenizers.src(),
            "source",
        )?;
        let tgt = read(
            settings.tgt_word_vectors.as_deref(),
            tokenizers.tgt(),
            "target",
        )?;
        let settings = settings.clone();
        Ok(Self { settings, src, tgt })
    }

    /// Sets the vectors of a fresh model, and freezes its embeddings as configured.
    pub(crate) fn apply_to(&self, mut model: Transformer) -> Result<Transformer, WordVectorsError> {
        if let Some(vectors) = &self.src {
            let embedding = vectors.replace_rows(model.src_embedding())?;
            model = model.with_src_embedding(embedding);
        }
        if let Some(vectors) = &self.tgt {
            let embedding = vectors.replace_rows(model.tgt_embedding())?;
            model = model.with_tgt_embedding(embedding);
        }
        if self.settings.freeze_src {
            model = model.freeze_src_embedding();
        }
        if self.settings.freeze_tgt {
            model = model.freeze_tgt_embedding();
        }
        Ok(model)
    }
}

fn vectors(
    path: &Path,
    tokenizer: &Tokenizer,
    settings: &EmbeddingSettings,
    d_model: usize,
) -> Result<WordVectors, WordVectorsError> {
    let vectors = WordVectors::read(path, tokenizer)?;
    let width = vectors.width();
    if width != d_model {
        return Err(WordVectorsError::ModelWidth { width, d_model });
    }
    Ok(match settings.rescale {
        true => vectors.with_rms((d_model as f64).powf(-0.5)),
        false => vectors,
    })
}
