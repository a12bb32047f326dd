//! A trained model that a run begins with.

use std::path::Path;

use transformer_core::TransformerConfig;
use transformer_core::directory::ModelDirectory;

use crate::TrainError;
use crate::config::{Experiment, check_positions};
use crate::progress::LogFn;

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

/// Says whether the model that an experiment goes on from is that of the run in this folder.
pub(crate) fn is_of(experiment: &Experiment, folder: &Path) -> bool {
    let model = experiment.finetune.model.as_ref();
    let model = model.and_then(|model| model.canonicalize().ok());
    let places = [folder.to_owned(), folder.join("model")];
    let mut places = places.iter().filter_map(|place| place.canonicalize().ok());
    model.is_some_and(|model| places.any(|place| place == model))
}

/// Returns the config of a model that goes on from another, the same but for dropout, and tells of it.
pub(crate) fn config(
    experiment: &Experiment,
    base: &TransformerConfig,
    log: &LogFn,
) -> Result<TransformerConfig, TrainError> {
    let config = experiment.model.override_in(base)?;
    config.validate()?;
    check_positions(&config, experiment.data.max_len)?;
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
