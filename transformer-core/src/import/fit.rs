//! [`StateDict::to_transformer`]: builds a model with the weights of a state dict.

use std::collections::BTreeMap;

use burn::tensor::{Device, TensorData};

use super::names::{Layout, Names};
use super::state_dict::{NonFinite, StateDict};
use crate::config::{ConfigError, Place, TransformerConfig};
use crate::directory::StoredTensors;
use crate::model::Transformer;

/// Error in importing a state dict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ImportError {
    #[error("the config is not valid")]
    Config(#[from] ConfigError),
    #[error(
        "the config describes a model of {n_parameters} parameters, but the state dict has only {n_values} values; \
         correct the config, or get the complete file"
    )]
    TooSmall {
        n_parameters: usize,
        n_values: usize,
    },
    #[error("the state dict and the config differ in {} places:{}", misfits.len(), list(misfits))]
    Misfits {
        /// All differences, sorted by the name of the tensor.
        misfits: Vec<Misfit>,
    },
}

/// Maximum number of parameters of a model that is built only to list the tensors missing from a smaller state dict.
const MAX_LISTED: usize = 1 << 28;

/// A difference between a state dict and a config.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum Misfit {
    #[error("`{name}` is missing; expected the shape {expected:?}")]
    Missing { name: String, expected: Vec<usize> },
    #[error("`{name}` is left over; it has the shape {found:?}, and the model has no such tensor")]
    LeftOver { name: String, found: Vec<usize> },
    #[error("`{name}` has the shape {found:?}; expected {expected:?}")]
    Shape {
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    #[error(
        "`{parameter}` of the model has no name in the state dict; give one, or choose a config without it"
    )]
    Unnamed { parameter: String },
    #[error(
        "`{name}` is not zero (its largest magnitude is {largest}), but the config has no output bias; choose \
         `output_bias: true`"
    )]
    OutputBias { name: String, largest: f32 },
    #[error("{0}")]
    NonFinite(NonFinite),
    #[error("`{name}` differs from `{twin}`, but the config ties them; choose another `tying`")]
    Untied {
        name: String,
        /// The tensor that it should equal.
        twin: String,
    },
}

impl Misfit {
    fn name(&self) -> &str {
        match self {
            Self::Missing { name, .. }
            | Self::LeftOver { name, .. }
            | Self::Shape { name, .. }
            | Self::OutputBias { name, .. }
            | Self::Untied { name, .. }
            | Self::NonFinite(NonFinite { name, .. })
            | Self::Unnamed { parameter: name } => name,
        }
    }
}

fn list(misfits: &[Misfit]) -> String {
    misfits
        .iter()
        .map(|misfit| format!("\n  {misfit}"))
        .collect()
}

impl StateDict {
    /// Builds the model of the config with these weights, on the device.
    ///
    /// Weights are converted to single precision. The config must be right about everything that a state dict does
    /// not contain: `n_heads`, `norm_placement`, `activation`, `norm_epsilon`, `scale_embeddings`, the kind of
    /// `positions` and `first_position`. A tied matrix may be in the state dict once, or several times with equal
    /// values. Buffers named `pe` are ignored if positions are sinusoidal, because those are computed. An output bias
    /// that the config does not have is ignored if it is zero.
    ///
    /// # Errors
    ///
    /// Returns an [`ImportError`] that lists every tensor that is missing, left over, not finite, or of the wrong
    /// shape.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::config::{NormPlacement, Tying};
    /// use transformer_core::import::{ImportError, Names, StateDict};
    /// use transformer_core::{TransformerConfig, device};
    ///
    /// let config = TransformerConfig {
    ///     d_model: 16,
    ///     d_ff: 32,
    ///     norm_placement: NormPlacement::Pre,
    ///     final_norm: true,
    ///     // Closest to a division by (std + 1e-6) where the standard deviation is 1.
    ///     norm_epsilon: 2e-6,
    ///     tying: Tying::None,
    ///     ..TransformerConfig::tiny(11, 11)
    /// };
    /// let (_, device) = device::choose(None)?;
    /// // In a real program: StateDict::read("annotated.pt")?
    /// let weights = StateDict::default();
    /// let error = weights.to_transformer(&config, &Names::Annotated, &device);
    /// let Err(ImportError::Misfits { misfits }) = error else { panic!("the state dict is empty") };
    /// assert_eq!(
    ///     misfits[0].to_string(),
    ///     "`decoder.layers.0.feed_forward.w_1.bias` is missing; expected the shape [32]"
    /// );
    /// # Ok::<(), device::DeviceError>(())
    /// ```
    pub fn to_transformer(
        &self,
        config: &TransformerConfig,
        names: &Names,
        device: &Device,
    ) -> Result<Transformer, ImportError> {
        let tensors = self.clone().into_tensors(config, names)?;
        let model = tensors.into_model(config, device);
        Ok(model.unwrap_or_else(|error| unreachable!("the table is complete: {error}")))
    }

    /// Returns the parameters of a model. Each tensor is freed once its parameters are converted.
    pub(crate) fn into_tensors(
        self,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<StoredTensors, ImportError> {
        config.validate()?;
        let (n_parameters, n_values) = (config.parameter_count(), self.n_values());
        if n_parameters > n_values.max(MAX_LISTED) {
            return Err(ImportError::TooSmall {
                n_parameters,
                n_values,
            });
        }
        // Names for parts of a layer cannot be given: such a part is refused as a whole.
        let is_unnamed = |parameter: &Place| {
            let is_of_layer = matches!(parameter, Place::Matrix(..) | Place::Bias(..));
            is_of_layer && names.source(*parameter, config).is_none()
        };
        let mut places = config.parameters().map(|(parameter, _)| parameter);
        if let Some(parameter) = places.find(is_unnamed) {
            let parameter = parameter.to_string();
            let misfits = vec![Misfit::Unnamed { parameter }];
            return Err(ImportError::Misfits { misfits });
        }
        let mut fit = Fit {
            dict: &self,
            config,
            names,
            n_uses: BTreeMap::new(),
            misfits: BTreeMap::new(),
        };
        let parameters: Vec<_> = config.parameters().collect();
        let sources = parameters.iter();
        let sources = sources.filter_map(|(parameter, shape)| fit.check(*parameter, shape));
        let sources: Vec<(String, Layout)> = sources.collect();
        fit.check_tied();
        fit.check_output_bias();
        fit.check_left_over();
        let Fit {
            misfits, n_uses, ..
        } = fit;
        match misfits.is_empty() {
            true => Ok(self.convert(parameters, sources, n_uses)),
            false => Err(ImportError::Misfits {
                misfits: misfits.into_values().collect(),
            }),
        }
    }

    /// Converts parameters to our layout, as floats, or as integers with their divisor. `n_uses` has the number of
    /// parameters that are in each tensor.
    fn convert(
        mut self,
        parameters: Vec<(Place, Vec<usize>)>,
        sources: Vec<(String, Layout)>,
        mut n_uses: BTreeMap<String, usize>,
    ) -> StoredTensors {
        let mut tensors = Vec::new();
        for ((parameter, shape), (name, layout)) in parameters.into_iter().zip(sources) {
            let is_last = n_uses.get_mut(&name).is_none_or(|n| {
                *n -= 1;
                *n == 0
            });
            let divisor = self.divided(&name).map(|(_, divisor)| divisor);
            let (tensor, divisor) = match layout {
                Layout::Same if is_last => (self.remove(&name), divisor),
                Layout::Same => (self.tensor(&name).cloned(), divisor),
                layout => {
                    let values = self.floats(&name);
                    if is_last {
                        self.remove(&name);
                    }
                    let convert =
                        |values| TensorData::new(layout.convert(values, &shape), &shape[..]);
                    (values.map(convert), None)
                }
            };
            let tensor = tensor.unwrap_or_else(|| unreachable!("`{name}` was found before"));
            tensors.push((parameter.to_string(), tensor, divisor));
        }
        StoredTensors::in_memory(tensors)
    }
}

struct Fit<'a> {
    dict: &'a StateDict,
    config: &'a TransformerConfig,
    names: &'a Names,
    /// The number of parameters that come from each tensor; 0 for tensors that are only compared.
    n_uses: BTreeMap<String, usize>,
    /// Differences by name, without duplicates: three parameters can come from one tensor.
    misfits: BTreeMap<String, Misfit>,
}

impl Fit<'_> {
    /// Returns the tensor of a parameter and its layout; `None` after noting a difference.
    fn check(&mut self, parameter: Place, shape: &[usize]) -> Option<(String, Layout)> {
        let Some((name, layout)) = self.source(parameter) else {
            self.note(Misfit::Unnamed {
                parameter: parameter.to_string(),
            });
            return None;
        };
        let expected = layout.tensor_shape(shape);
        let Some(tensor) = self.dict.tensor(&name) else {
            self.note(Misfit::Missing { name, expected });
            return None;
        };
        *self.n_uses.entry(name.clone()).or_default() += 1;
        let found = dims(tensor);
        if found != expected {
            self.note(Misfit::Shape {
                name,
                expected,
                found,
            });
            return None;
        }
        (!self.note_non_finite(&name)).then_some((name, layout))
    }

    /// Returns the tensor from which a parameter is loaded: for a tied matrix, the first of its names that
    /// is in the state dict.
    fn source(&self, parameter: Place) -> Option<(String, Layout)> {
        let twins = self.config.tied_places().iter();
        let twins = twins.filter(|(_, first)| *first == parameter);
        let mut all = [parameter].into_iter().chain(twins.map(|(twin, _)| *twin));
        let named = |parameter| self.names.source(parameter, self.config);
        let exists = |(name, _): &(String, Layout)| self.dict.tensor(name).is_some();
        let found = all.find_map(|parameter| named(parameter).filter(exists));
        found.or_else(|| named(parameter))
    }

    /// Checks that matrices that the config ties are equal.
    fn check_tied(&mut self) {
        for &(twin, first) in self.config.tied_places() {
            let named = self.names.source(twin, self.config);
            let (Some((name, _)), Some((first, _))) = (named, self.source(first)) else {
                continue;
            };
            let (Some(copy), Some(matrix)) = (self.dict.tensor(&name), self.dict.tensor(&first))
            else {
                continue;
            };
            self.n_uses.entry(name.clone()).or_default();
            let is_equal = name == first
                || dims(copy) == dims(matrix)
                    && self.dict.floats(&name) == self.dict.floats(&first);
            if !is_equal && !self.note_non_finite(&name) && !self.note_non_finite(&first) {
                self.note(Misfit::Untied { name, twin: first });
            }
        }
    }

    fn check_output_bias(&mut self) {
        let source = self.names.source(Place::OutputBias, self.config);
        let Some((name, _)) = source.filter(|_| !self.config.output_bias) else {
            return;
        };
        let Some(bias) = self.dict.floats(&name) else {
            return;
        };
        self.n_uses.entry(name.clone()).or_default();
        if self.note_non_finite(&name) {
            return;
        }
        let largest = bias
            .iter()
            .fold(0.0, |largest: f32, value| largest.max(value.abs()));
        if largest > 0.0 {
            self.note(Misfit::OutputBias { name, largest });
        }
    }

    fn check_left_over(&mut self) {
        let is_computed = self.config.positions.is_sinusoidal();
        let dict = self.dict;
        for name in dict.names() {
            let is_positions = name.rsplit('.').next() == Some("pe");
            if self.n_uses.contains_key(name) || (is_positions && is_computed) {
                continue;
            }
            let found = dict.tensor(name).map(dims).unwrap_or_default();
            self.note(Misfit::LeftOver {
                name: name.to_owned(),
                found,
            });
        }
    }

    /// Notes the first value of a tensor that is not finite, and returns whether there is one.
    fn note_non_finite(&mut self, name: &str) -> bool {
        let found = self.dict.find_non_finite(name);
        let is_found = found.is_some();
        found
            .into_iter()
            .for_each(|it| self.note(Misfit::NonFinite(it)));
        is_found
    }

    fn note(&mut self, misfit: Misfit) {
        self.misfits.insert(misfit.name().to_owned(), misfit);
    }
}

fn dims(tensor: &TensorData) -> Vec<usize> {
    tensor.shape().iter().copied().collect()
}
