//! [`LoadedModel`]: a model in one or both of the forms that it is used in; [`OpenOptions`]: the options for opening it.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use burn::tensor::Device;
use transformer_core::device::is_cpu_memory;
use transformer_core::directory::{ModelDirectory, ModelFiles};
use transformer_core::{
    ComputePrecision, LoadError, PackedTransformer, Shortlist, Transformer, TransformerConfig,
};

use crate::TranslatorError;
use crate::scorer::without_autodiff;

/// True where models have only their packed form, so that the compiler leaves out the modules: in the browser.
pub(crate) const ARE_PACKED: bool = cfg!(target_family = "wasm");

/// A model packed for CPUs, or a Burn module for everything else; each is made from the other on first use.
#[derive(Debug)]
pub(crate) struct LoadedModel {
    pub(super) config: TransformerConfig,
    packed: OnceLock<PackedTransformer>,
    tensors: OnceLock<Transformer>,
    /// The source of the weights, and the device of the tensors; absent for a model in memory.
    source: Option<(ModelDirectory, Device)>,
    precision: ComputePrecision,
    /// The shortlist of a model in memory.
    shortlist: Option<Arc<Shortlist>>,
}

impl LoadedModel {
    pub(super) fn in_memory(model: Transformer, config: &TransformerConfig) -> Self {
        Self {
            config: config.clone(),
            packed: OnceLock::new(),
            tensors: OnceLock::from(model),
            source: None,
            precision: ComputePrecision::F32,
            shortlist: None,
        }
    }

    pub(super) fn of_packed(model: PackedTransformer) -> Self {
        Self {
            config: model.config().clone(),
            precision: model.precision(),
            packed: OnceLock::from(model),
            tensors: OnceLock::new(),
            source: None,
            shortlist: None,
        }
    }

    /// Sets the number format and the shortlist of a model in memory, before it is packed.
    pub(super) fn set_packing(
        &mut self,
        precision: ComputePrecision,
        shortlist: Option<Shortlist>,
    ) {
        self.precision = precision;
        self.shortlist = shortlist.map(Arc::new);
    }

    /// Loads the model of a directory: packed if the device is a CPU, otherwise onto the device.
    pub(super) fn open(
        files: ModelFiles,
        device: &Device,
        options: &OpenOptions,
    ) -> Result<(ModelDirectory, Self), TranslatorError> {
        let is_cpu = is_cpu_memory(device);
        if let Some(precision) = options.precision.filter(|_| !is_cpu) {
            let device = transformer_core::device::describe(device);
            return Err(TranslatorError::Precision { precision, device });
        }
        let load = |directory: &ModelDirectory| -> Result<_, TranslatorError> {
            if !ARE_PACKED && (!is_cpu || options.as_module) {
                return Ok((OnceLock::new(), OnceLock::from(directory.load(device)?)));
            }
            let mut packed = directory.load_packed(options.precision)?;
            if options.without_shortlist {
                packed = packed.with_shortlist(None);
            }
            Ok((OnceLock::from(packed), OnceLock::new()))
        };
        let (directory, (packed, tensors)) = ModelDirectory::open_with(files, load)?;
        let precision = options.precision;
        let model = Self {
            precision: precision.unwrap_or_else(|| directory.compute_precision()),
            config: directory.config().clone(),
            packed,
            tensors,
            source: Some((directory.clone(), device.clone())),
            shortlist: None,
        };
        Ok((directory, model))
    }

    /// Returns the number format of the packed model; `None` if the tensors are not in CPU memory.
    pub(super) fn precision(&self) -> Option<ComputePrecision> {
        let is_elsewhere = |model: &Transformer| !is_cpu_memory(&model.device());
        let is_elsewhere = !ARE_PACKED && self.tensors.get().is_some_and(is_elsewhere);
        (!is_elsewhere).then_some(self.precision)
    }

    /// Returns the packed model; `None` if the tensors are not in CPU memory.
    pub(super) fn packed(&self) -> Option<&PackedTransformer> {
        self.precision()?;
        if let Some(packed) = self.packed.get() {
            return Some(packed);
        }
        if ARE_PACKED {
            return None;
        }
        let model = self.tensors.get();
        let model = model.expect("a model is loaded in one form at least");
        // Packing uses rayon's threads. While one of them waits, it may begin another task that also asks for this
        // model; if the closure of the lock did the packing, it would wait for itself.
        let packed = PackedTransformer::of(&without_autodiff(model), self.precision);
        let packed = packed.with_shortlist(self.shortlist.clone());
        Some(self.packed.get_or_init(|| packed))
    }

    /// Returns the module, in 32-bit floats.
    pub(super) fn tensors(&self) -> Result<&Transformer, LoadError> {
        if let Some(model) = self.tensors.get() {
            return Ok(model);
        }
        let source = self.source.as_ref();
        let (directory, device) = source.expect("a model for generation alone has no module");
        let model = directory.load(device)?;
        Ok(self.tensors.get_or_init(|| model))
    }
}

/// The options for opening models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The number format of matrix products on CPUs. Default: integers for a model that is stored in them, otherwise
    /// floats.
    pub precision: Option<ComputePrecision>,
    /// If true, all target tokens are candidates, even if the model has a shortlist.
    pub without_shortlist: bool,
    /// If true, loads modules, for scores and attention; they are packed only at the first translation.
    pub as_module: bool,
    /// Maximum number of threads that translate at the same time, on CPUs. Default: one per core.
    pub n_threads: Option<NonZeroUsize>,
}
