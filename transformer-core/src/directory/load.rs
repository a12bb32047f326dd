//! Loading: from a model directory to a model on a device.

use std::path::PathBuf;

use burn::module::Module;
use burn::store::RecordError;
use burn::tensor::Device;

use super::stored_weights::{self, RestoreError};
use super::{DirectoryError, ModelDirectory, Precision};
use crate::config::TransformerConfig;
use crate::model::Transformer;

/// Why the weights of a model directory cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file of the weights cannot be read, or does not match the manifest any more.
    #[error(transparent)]
    File(#[from] DirectoryError),
    /// The file is too small for a model of this config. Checked before memory is allocated for the model.
    #[error(
        "`{}` has {bytes} bytes, too few for the {n_parameters} parameters of the model in config.json; restore \
         the file, or make the model again",
        path.display()
    )]
    TooSmall {
        /// File of the weights.
        path: PathBuf,
        /// Its size, in bytes.
        bytes: u64,
        /// Number of parameters of the config.
        n_parameters: usize,
    },
    /// The weights are not those of a model of this config.
    #[error(
        "`{}` does not hold the weights of the model in config.json; restore the file, or train again",
        path.display()
    )]
    Weights {
        /// File of the weights.
        path: PathBuf,
        /// Burn's error.
        source: RecordError,
    },
    /// The weights are not stored in the precision that the manifest states.
    #[error(
        "`{tensor}` in `{}` is not stored in {precision} or lacks its scales, but manifest.json says {precision}; \
         restore the file, or quantize the model again",
        path.display()
    )]
    Precision {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The precision in the manifest.
        precision: Precision,
    },
    /// A tensor of the model is missing.
    #[error(
        "`{}` has no tensor `{tensor}`, which the model in config.json needs; restore the file, or train again",
        path.display()
    )]
    Missing {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
    /// A tensor has another shape than in the model.
    #[error(
        "`{tensor}` in `{}` has the shape {found:?}, and in the model of config.json {expected:?}; restore the \
         files, or train again",
        path.display()
    )]
    Shape {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// Its shape in the model.
        expected: Vec<usize>,
    },
    /// The file has a tensor that the model does not have.
    #[error(
        "`{}` has a tensor `{tensor}`, which the model in config.json does not have; restore the files, or train \
         again",
        path.display()
    )]
    Unused {
        /// File of the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
}

impl ModelDirectory {
    /// Loads the model onto the device.
    ///
    /// The weights are read as a whole and their hash is checked again, so later changes to the file do not
    /// affect the model.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the weights cannot be read or do not fit the config. If training has
    /// written a new model into the directory since it was opened, the weights are gone;
    /// [`open_with`](Self::open_with) then opens the new one.
    pub fn load(&self, device: &Device) -> Result<Transformer, LoadError> {
        self.load_to_train(self.config(), device)
    }

    /// Loads the weights into a model of `config`, onto a device that may record gradients.
    ///
    /// `config` must have the shapes of the directory's config; dropout may differ.
    ///
    /// # Errors
    ///
    /// See [`load`](Self::load).
    ///
    /// # Panics
    ///
    /// Panics if the config is not valid ([`TransformerConfig::validate`]).
    pub fn load_to_train(
        &self,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Transformer, LoadError> {
        let path = self.weights_path();
        let precision = self.manifest().precision;
        let bytes = self.manifest().files.weights.bytes;
        let n_parameters = config.parameter_count();
        if bytes / precision.element_bytes() < n_parameters as u64 {
            return Err(LoadError::TooSmall {
                path,
                bytes,
                n_parameters,
            });
        }
        let record = match stored_weights::restore(self.read_weights()?, precision) {
            Ok(record) => record,
            Err(RestoreError::Record(source)) => {
                return Err(LoadError::Weights { path, source });
            }
            Err(RestoreError::OtherPrecision { tensor }) => {
                return Err(LoadError::Precision {
                    path,
                    tensor,
                    precision,
                });
            }
        };
        let model = config.init(device).expect("the config is valid");
        // The backend may compute in another type than the weights are stored in.
        let loaded = model.try_load_record(record.cast_to_module_dtype());
        loaded.map_err(|source| LoadError::Weights { path, source })
    }
}
