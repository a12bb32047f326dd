//! A trained model that a run begins with.

use std::path::Path;

use transformer_core::TransformerConfig;
use transformer_core::directory::ModelDirectory;

use crate::TrainError;
use crate::config::{Experiment, check_positions};
use crate::report::Say;

/// Opens the model that an experiment goes on from, if it does.
///
/// `published` is the model of a run that was begun so: it has the tokenizers and the shape, so that the first model
/// need not be there any more.
pub(crate) fn base(
    experiment: &Experiment,
    published: Option<ModelDirectory>,
) -> Result<Option<ModelDirectory>, TrainError> {
    let Some(path) = &experiment.finetune.model else {
        return Ok(None);
    };
    match published {
        Some(published) => Ok(Some(published)),
        None => Ok(Some(ModelDirectory::open(path)?)),
    }
}

/// Says whether the model that an experiment goes on from lies in this folder.
pub(crate) fn is_within(experiment: &Experiment, folder: &Path) -> bool {
    let Some(model) = &experiment.finetune.model else {
        return false;
    };
    match (model.canonicalize(), folder.canonicalize()) {
        (Ok(model), Ok(folder)) => model.starts_with(folder),
        _ => false,
    }
}

/// Returns the config of a model that goes on from another, the same but for dropout, and tells of it.
pub(crate) fn config(
    experiment: &Experiment,
    base: &TransformerConfig,
    say: &Say,
) -> Result<TransformerConfig, TrainError> {
    let config = experiment.model.over(base)?;
    config.validate()?;
    check_positions(&config, experiment.data.max_len)?;
    if let Some(path) = &experiment.finetune.model {
        say(&format!(
            "finetuning  {}: {}+{} layers, d_model {}",
            path.display(),
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_model
        ));
    }
    Ok(config)
}
