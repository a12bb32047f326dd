//! Loading: from a model directory to a model on a device.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, Tensor};

use super::stored_tensors::StoredTensors;
use super::{LoadError, ModelDirectory};
use crate::config::TransformerConfig;
use crate::model::Transformer;

impl ModelDirectory {
    /// Loads the model onto the device.
    ///
    /// The weights are read once, and the bytes read are hashed, so later changes to the file do not affect the model.
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
        config.validate().expect("the config is valid");
        self.stored_tensors()?.into_model(config, device)
    }
}

impl StoredTensors {
    /// Builds the model of a valid config with these weights.
    pub(crate) fn into_model(
        self,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Transformer, LoadError> {
        let mut fill = Fill {
            path: Vec::new(),
            tensors: self,
            dtype: Tensor::<1>::zeros([1], device).dtype(),
            error: None,
        };
        let model = config.build(device).map(&mut fill);
        match fill.error {
            Some(error) => Err(error),
            None => fill.tensors.check_all_taken().map(|()| model),
        }
    }
}

/// Replaces the parameters of a model before they are initialized.
struct Fill {
    path: Vec<String>,
    /// The tensors that are still unused.
    tensors: StoredTensors,
    /// The element type of the device.
    dtype: DType,
    /// The first error.
    error: Option<LoadError>,
}

impl ModuleMapper for Fill {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.error.is_some() {
            return param;
        }
        match self
            .tensors
            .take_floats(&self.path.join("."), &param.lazy_shape())
        {
            Ok((values, id)) => {
                let options = (&param.lazy_device(), self.dtype);
                param.transform_for_load(Tensor::from_data(values, options), id)
            }
            Err(error) => {
                self.error = Some(error);
                param
            }
        }
    }
}
