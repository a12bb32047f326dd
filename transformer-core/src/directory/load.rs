//! From a model directory to a model on a device: where files meet tensors.

use std::path::PathBuf;

use burn::module::Module;
use burn::store::RecordError;
use burn::tensor::Device;

use super::quantize::read_weights;
use super::{DirectoryError, ModelDirectory, Precision};
use crate::config::TransformerConfig;
use crate::model::Transformer;

/// Says why the weights of a model directory make no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file with the weights cannot be read, or is not what the manifest says any more.
    #[error(transparent)]
    File(#[from] DirectoryError),
    /// The file is smaller than the weights of a model of this config, whose memory is not even asked for.
    #[error(
        "`{}` has {bytes} bytes, too few for the {n_parameters} parameters of the model in config.json; restore \
         the file, or make the model again",
        path.display()
    )]
    TooFew {
        /// The file with the weights.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// How many numbers it should have.
        n_parameters: usize,
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
    /// The weights are not stored as the manifest says.
    #[error(
        "`{tensor}` in `{}` is not stored in {precision} with all that belongs to it, as manifest.json says; \
         restore the file, or quantize the model again",
        path.display()
    )]
    Precision {
        /// The file with the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What the manifest says.
        precision: Precision,
    },
}

impl ModelDirectory {
    /// Builds the model that the directory holds, with its weights, on the device. They are read as a whole, and their hash
    /// is checked once more: what happens to the file afterwards has no part in the model.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the weights cannot be read or are those of another model. Where training has put
    /// a new model into the directory since it was opened, the weights are gone; [`open_and`](Self::open_and) then opens
    /// it again.
    pub fn load(&self, device: &Device) -> Result<Transformer, LoadError> {
        self.load_to_train(self.config(), device)
    }

    /// Builds a model of `config`, which has the shapes of the directory's and may have another dropout, with the
    /// weights of the directory, on a device that may record gradients.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    ///
    /// # Panics
    ///
    /// Panics if the config is none ([`TransformerConfig::validate`]).
    pub fn load_to_train(
        &self,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Transformer, LoadError> {
        let path = self.weights_path();
        let (bytes, n_parameters) = (
            self.manifest().files.weights.bytes,
            config.parameter_count(),
        );
        if bytes / self.manifest().precision.bytes() < n_parameters as u64 {
            return Err(LoadError::TooFew {
                path,
                bytes,
                n_parameters,
            });
        }
        let record = read_weights(self.read_weights()?, &path, self.manifest().precision)?;
        let model = config.init(device).expect("a config that is valid");
        // Weights may be stored in another type than they are computed in.
        let loaded = model.try_load_record(record.cast_to_module_dtype());
        loaded.map_err(|source| LoadError::Weights { path, source })
    }
}
