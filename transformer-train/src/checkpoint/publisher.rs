//! Publishes the weights of a run as a model directory, after each interval and at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::Module;
use burn::store::ModuleRecord;
use burn_train::checkpoint::{Checkpointer, CheckpointerError};
use transformer_core::directory::{ModelDirectory, ModelParts, Tokenizers, with_named_ids};
use transformer_core::text::one_line;
use transformer_core::{Transformer, TransformerConfig};

use super::files::MODEL;
use super::fit::load;
use super::state::SavedState;
use super::writer::PartCheckpointer;
use crate::config::{ConfigError, Experiment, TrainingSettings};
use crate::error::TrainError;
use crate::progress::DeferredLog;
use crate::step::Objective;

#[derive(Clone)]
pub(crate) struct Publisher {
    pub(crate) directory: PathBuf,
    pub(crate) config: TransformerConfig,
    pub(crate) tokenizers: Tokenizers,
    pub(crate) training: serde_json::Value,
}

impl Publisher {
    pub(crate) fn of_run(
        directory: &Path,
        config: &TransformerConfig,
        tokenizers: &Tokenizers,
        experiment: &Experiment,
        start: &SavedState,
    ) -> Result<Self, ConfigError> {
        let mut training = serde_json::json!({
            "program": concat!("transformer-train ", env!("CARGO_PKG_VERSION")),
            "n_threads": start.n_threads,
            "experiment": experiment.to_toml()?,
            "search": experiment.validation.search(experiment.validation.beam_size),
        });
        if !start.changes.is_empty() {
            training["changes"] = serde_json::json!(start.changes);
        }
        Ok(Self {
            directory: directory.to_owned(),
            config: config.clone(),
            tokenizers: tokenizers.clone(),
            training,
        })
    }

    /// Replaces the published model. If the program is killed at any moment, either the old or the new model remains.
    pub(crate) fn publish(
        &self,
        model: Transformer,
        scores: serde_json::Value,
    ) -> Result<(), TrainError> {
        let weights = with_named_ids(model).into_record().into_bytes();
        let weights = weights.map_err(|source| TrainError::Encode { source })?;
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

/// Called with the number of updates done, and the weights that are published.
pub(crate) type OnPublish = Arc<dyn Fn(u64, &Transformer) + Send + Sync>;

/// Burn's checkpointer of the weights, which also publishes them.
pub(crate) struct ModelCheckpointer {
    pub(crate) part: PartCheckpointer,
    pub(crate) template: Objective,
    pub(crate) publisher: Publisher,
    pub(crate) training: TrainingSettings,
    pub(crate) deferred: DeferredLog,
    pub(crate) on_publish: Option<OnPublish>,
}

impl Checkpointer<ModuleRecord> for ModelCheckpointer {
    fn save(&self, interval: usize, record: ModuleRecord) -> Result<(), CheckpointerError> {
        self.part.save(interval, record)?;
        let saved = load(&self.template, &self.part.writer.path(MODEL, interval));
        let published = saved.and_then(|objective| {
            let updates = self.training.updates_after(interval);
            let scores = serde_json::json!({ "updates": updates });
            let model = objective.into_model();
            if let Some(on_publish) = &self.on_publish {
                on_publish(updates, &model);
            }
            self.publisher.publish(model, scores)
        });
        published.map_err(|error| CheckpointerError::Unknown(one_line(&error)))?;
        self.deferred.release_oldest();
        Ok(())
    }

    fn delete(&self, interval: usize) -> Result<(), CheckpointerError> {
        Checkpointer::<ModuleRecord>::delete(&self.part, interval)
    }

    fn restore(&self, interval: usize) -> Result<ModuleRecord, CheckpointerError> {
        self.part.restore(interval)
    }
}
