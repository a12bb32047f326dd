//! Loading: from a model directory to a model on a device; and ids of parameters derived from their names, so that files
//! of equal weights are equal.

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{DType, Device, Int, Tensor};
use sha2::{Digest, Sha256};

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
    tensors: StoredTensors,
    dtype: DType,
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

/// Gives every parameter of a model an id that is a hash of its name.
///
/// Burn draws ids at random and writes them into a record beside the values; without this, two files of the same
/// weights would differ.
#[must_use]
pub fn with_named_ids(model: Transformer) -> Transformer {
    model.map(&mut NamedIds { path: Vec::new() })
}

/// Replaces ids of parameters by hashes of their names.
struct NamedIds {
    path: Vec<String>,
}

impl NamedIds {
    fn id(&self) -> ParamId {
        let hash = Sha256::digest(self.path.join("."));
        let first = hash.iter().take(8);
        ParamId::from(first.fold(0, |id: u64, &byte| id << 8 | u64::from(byte)))
    }
}

impl ModuleMapper for NamedIds {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (_, tensor, mapper) = param.consume();
        Param::from_mapped_value(self.id(), tensor, mapper)
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        let (_, tensor, mapper) = param.consume();
        Param::from_mapped_value(self.id(), tensor, mapper)
    }
}
