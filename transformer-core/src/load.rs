//! From a model directory to a model on a device: where files meet tensors.

use std::path::PathBuf;

use burn::module::Module;
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::Device;

use crate::config::ConfigError;
use crate::directory::ModelDirectory;
use crate::model::Transformer;

/// Says why the weights of a model directory make no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The config describes no model.
    #[error("the config of the model with the weights `{}` describes no model", path.display())]
    Config {
        /// The file with the weights.
        path: PathBuf,
        /// What is wrong with the config.
        source: ConfigError,
    },
    /// The weights are not those of a model of this config.
    #[error(
        "`{}` does not hold the weights of the model in config.json; restore the file, or train again",
        path.display()
    )]
    Weights {
        /// The file with the weights.
        path: PathBuf,
        /// What Burn said.
        source: RecordError,
    },
}

impl ModelDirectory {
    /// Builds the model that the directory holds, with its weights, on the device.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the weights cannot be read or are those of another model.
    pub fn load(&self, device: &Device) -> Result<Transformer, LoadError> {
        let path = self.weights_path();
        let model = match self.config().init(device) {
            Ok(model) => model,
            Err(source) => return Err(LoadError::Config { path, source }),
        };
        // Weights may be stored in less precision than they are computed in.
        ModuleRecord::load(&path)
            .and_then(|record| model.try_load_record(record.cast_to_module_dtype()))
            .map_err(|source| LoadError::Weights { path, source })
    }
}
