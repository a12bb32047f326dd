//! Training a trained model further.

use std::path::Path;

use transformer_core::config::AdapterConfig;
use transformer_core::directory::{Languages, ModelDirectory};
use transformer_core::{Transformer, TransformerConfig};

use super::trained_tokens::TrainedTokens;
use crate::config::{Experiment, check_sequences};
use crate::error::TrainError;
use crate::progress::LogFn;

/// Opens the model that the experiment continues to train, if any.
///
/// `published` is the model of a resumed run: it has the same tokenizers and shape, so the first model is no longer
/// needed.
pub(super) fn base(
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
pub(super) fn is_of(experiment: &Experiment, folder: &Path) -> bool {
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

/// Logs the size of a model.
pub(super) fn log_size(config: &TransformerConfig, adapters: &AdapterConfig, log: &LogFn) {
    log(&size(config, adapters));
}

/// Returns the log line with the number of parameters, and the number of those that are trained.
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
