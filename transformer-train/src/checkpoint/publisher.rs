//! What is written at the end of each interval, and the average of the last few (§6.1).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::store::ModuleRecord;
use burn::tensor::{Bytes, Tensor};
use burn_train::checkpoint::{Checkpointer, CheckpointerError};
use transformer_core::directory::{DirectoryError, ModelDirectory, ModelParts, Tokenizers};
use transformer_core::{Transformer, TransformerConfig};
use transformer_infer::one_line;

use crate::checkpoint::{Checkpoints, MODEL, PartCheckpointer, part_name};
use crate::config::TrainingSettings;
use crate::progress::DeferredLog;
use crate::run::Run;
use crate::step::Objective;

/// Says why a checkpoint could not be read or a model not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The model directory could not be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Burn could not read or write a record.
    #[error("weights cannot be {action}: {reason}")]
    Record {
        /// What was tried.
        action: &'static str,
        /// What Burn says about it.
        reason: String,
    },
}

/// Writes the weights of a run as a model directory that can translate at once.
#[derive(Clone)]
pub(crate) struct Publisher {
    pub(crate) directory: PathBuf,
    pub(crate) config: TransformerConfig,
    pub(crate) tokenizers: Tokenizers,
    /// How the model is trained, for the manifest.
    pub(crate) training: serde_json::Value,
}

impl Publisher {
    /// Writes the model in place of the one before; killed at any moment, one of the two remains.
    pub(crate) fn publish(
        &self,
        model: Transformer,
        scores: serde_json::Value,
    ) -> Result<(), SaveError> {
        let weights = model
            .into_record()
            .into_bytes()
            .map_err(|error| SaveError::Record {
                action: "encoded",
                reason: error.to_string(),
            })?;
        let mut training = self.training.clone();
        if let Some(training) = training.as_object_mut() {
            training.insert("scores".to_owned(), scores);
        }
        let parts = ModelParts {
            config: &self.config,
            tokenizers: &self.tokenizers,
            weights: &weights,
            training,
        };
        Ok(ModelDirectory::write(&self.directory, &parts)?)
    }
}

/// Keeps the weights of each interval in a file, and publishes them.
pub(crate) struct ModelCheckpointer {
    files: PartCheckpointer,
    directory: PathBuf,
    template: Objective,
    publisher: Publisher,
    training: TrainingSettings,
    deferred: DeferredLog,
}

impl ModelCheckpointer {
    pub(crate) fn new(
        run: &Run<'_>,
        checkpoints: Arc<Checkpoints>,
        template: Objective,
        deferred: DeferredLog,
    ) -> Self {
        Self {
            files: PartCheckpointer {
                part: MODEL,
                checkpoints,
            },
            directory: run.folder.checkpoints.clone(),
            template,
            publisher: run.publisher.clone(),
            training: run.experiment.training.clone(),
            deferred,
        }
    }
}

impl Checkpointer<ModuleRecord> for ModelCheckpointer {
    fn save(&self, interval: usize, record: ModuleRecord) -> Result<(), CheckpointerError> {
        self.files.save(interval, record)?;
        let saved = load(
            &self.template,
            &self.directory.join(part_name(MODEL, interval)),
        );
        let published = saved.and_then(|objective| {
            let updates = self.training.updates_after(interval);
            let scores = serde_json::json!({ "updates": updates });
            self.publisher.publish(objective.into_model(), scores)
        });
        published.map_err(|error| CheckpointerError::Unknown(one_line(&error)))?;
        self.deferred.release_oldest();
        Ok(())
    }

    fn delete(&self, interval: usize) -> Result<(), CheckpointerError> {
        Checkpointer::<ModuleRecord>::delete(&self.files, interval)
    }

    fn restore(&self, interval: usize) -> Result<ModuleRecord, CheckpointerError> {
        self.files.restore(interval)
    }
}

/// Averages the weights of the given intervals' checkpoints (§6.1: "averaging the last 5 checkpoints").
///
/// `template` is a module with parameters of these names.
pub(crate) fn average<M: Module>(
    directory: &Path,
    intervals: &[usize],
    template: &M,
) -> Result<M, SaveError> {
    let mut sums = Sums(HashMap::new());
    let mut last = template.clone();
    for &interval in intervals {
        last = load(template, &directory.join(part_name(MODEL, interval)))?;
        last.visit(&mut sums);
    }
    let factor = 1.0 / intervals.len() as f64;
    Ok(last.map(&mut Mean {
        sums: sums.0,
        factor,
    }))
}

fn load<M: Module>(template: &M, path: &Path) -> Result<M, SaveError> {
    let read_error = |reason: String| SaveError::Record {
        action: "read",
        reason,
    };
    // As bytes: of a file, Burn would read each tensor at its first use.
    let bytes = fs::read(path).map_err(|error| read_error(error.to_string()))?;
    let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes))
        .map_err(|error| read_error(error.to_string()))?;
    let loaded = template.clone().try_load_record(record);
    loaded.map_err(|error| read_error(error.to_string()))
}

/// Sums every parameter over several models.
struct Sums(HashMap<ParamId, Tensor<1>>);

impl ModuleVisitor for Sums {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let n_elements = param.val().shape().num_elements();
        let values = param.val().reshape([n_elements]);
        let sum = match self.0.remove(&param.id) {
            Some(sum) => sum + values,
            None => values,
        };
        self.0.insert(param.id, sum);
    }
}

/// Replaces every parameter by its mean.
struct Mean {
    sums: HashMap<ParamId, Tensor<1>>,
    factor: f64,
}

impl ModuleMapper for Mean {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.sums.remove(&param.id) {
            Some(sum) => param.map(|tensor| (sum * self.factor).reshape(tensor.shape())),
            None => param,
        }
    }
}
