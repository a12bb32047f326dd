//! [`StateDict::to_transformer`]: builds a model with the weights of a state dict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};

use super::names::{Names, SourceTensor};
use super::state_dict::{NonFinite, StateDict};
use crate::config::{ConfigError, Positions, TransformerConfig, Tying};
use crate::model::Transformer;

/// Why a state dict cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The config is not valid.
    #[error("the config is not valid")]
    Config(#[from] ConfigError),
    /// The model is much larger than the state dict. It is not built just to list what is missing.
    #[error(
        "the config describes a model of {n_parameters} parameters, but the state dict has only {n_values} values; \
         correct the config, or get the complete file"
    )]
    TooSmall {
        /// Number of parameters of the model.
        n_parameters: usize,
        /// Number of values in the state dict.
        n_values: usize,
    },
    /// The state dict and the config do not match.
    #[error("the state dict and the config differ in {} places:{}", misfits.len(), list(misfits))]
    Misfits {
        /// All differences, sorted by the name of the tensor.
        misfits: Vec<Misfit>,
    },
}

/// Number of parameters of the largest model that is built to list what a smaller state dict lacks.
const MAX_LISTED: usize = 1 << 28;

/// A difference between a state dict and a config.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Misfit {
    /// The state dict lacks a tensor of the model.
    Missing {
        /// The tensor.
        name: String,
        /// The shape that the model requires.
        expected: Vec<usize>,
    },
    /// The state dict has a tensor that the model does not use.
    LeftOver {
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A tensor has another shape than the model requires.
    Shape {
        /// The tensor.
        name: String,
        /// The shape that the model requires.
        expected: Vec<usize>,
        /// Its shape.
        found: Vec<usize>,
    },
    /// The naming convention has no name for a parameter of the model.
    Unnamed {
        /// Our name for the parameter.
        parameter: String,
    },
    /// The state dict has an output bias, but the config has none.
    OutputBias {
        /// The tensor.
        name: String,
        /// Its largest magnitude.
        largest: f32,
    },
    /// A tensor has a value that is NaN or infinite in single precision.
    NonFinite(NonFinite),
    /// Two matrices are tied in the config, but differ in the state dict.
    Untied {
        /// The tensor.
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

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, expected } => {
                write!(f, "`{name}` is missing; expected the shape {expected:?}")
            }
            Self::LeftOver { name, found } => {
                write!(
                    f,
                    "`{name}` is left over; it has the shape {found:?}, and the model has no such tensor"
                )
            }
            Self::Shape {
                name,
                expected,
                found,
            } => write!(f, "`{name}` has the shape {found:?}; expected {expected:?}"),
            Self::Unnamed { parameter } => write!(
                f,
                "`{parameter}` of the model has no name in the state dict; give one, or choose a config \
                 without it"
            ),
            Self::NonFinite(found) => found.fmt(f),
            Self::OutputBias { name, largest } => write!(
                f,
                "`{name}` is not zero (its largest magnitude is {largest}), but the config has no output bias; choose \
                 `output_bias: true`"
            ),
            Self::Untied { name, twin } => write!(
                f,
                "`{name}` differs from `{twin}`, but the config ties them; choose another `tying`"
            ),
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
    /// not contain: `n_heads`, `norm_placement`, `activation`, `norm_epsilon`, `scale_embeddings` and the kind of
    /// `positions`. A tied matrix may be in the state dict once, or several times with equal values. Buffers named
    /// `pe` are ignored if positions are sinusoidal, because those are computed. An output bias that the config
    /// does not have is ignored if it is zero.
    ///
    /// # Errors
    ///
    /// Returns an [`ImportError`] that lists every tensor that is missing, left over, of another shape, or not
    /// finite.
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
        config.validate()?;
        let (n_parameters, n_values) = (config.parameter_count(), self.n_values());
        if n_parameters > n_values.max(MAX_LISTED) {
            return Err(ImportError::TooSmall {
                n_parameters,
                n_values,
            });
        }
        #[expect(clippy::disallowed_methods, reason = "all weights are replaced")]
        let model = config.init(device)?;
        let mut fit = Fit {
            dict: self,
            config,
            names,
            path: Vec::new(),
            used: BTreeSet::new(),
            misfits: BTreeMap::new(),
        };
        let model = model.map(&mut fit);
        fit.check_tied();
        fit.check_output_bias();
        fit.check_left_over();
        if fit.misfits.is_empty() {
            return Ok(model);
        }
        Err(ImportError::Misfits {
            misfits: fit.misfits.into_values().collect(),
        })
    }
}

/// Replaces every parameter by the tensor of the state dict, and collects the differences.
struct Fit<'a> {
    dict: &'a StateDict,
    config: &'a TransformerConfig,
    names: &'a Names,
    /// Path of the current module.
    path: Vec<String>,
    /// Tensors that the model uses.
    used: BTreeSet<String>,
    /// Differences by name, without duplicates: three parameters can come from one tensor.
    misfits: BTreeMap<String, Misfit>,
}

impl ModuleMapper for Fit<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape: Vec<usize> = param.dims().to_vec();
        let Some(values) = self.values(&self.path.join("."), &shape) else {
            return param;
        };
        let is_tracked = param.is_require_grad();
        let data = TensorData::new(values, shape);
        let param = param.map(|old| Tensor::from_data(data, &old.device()));
        match is_tracked {
            true => param.set_require_grad(true),
            false => param,
        }
    }
}

impl Fit<'_> {
    /// Returns the values of a parameter in our layout; `None` after noting a difference.
    fn values(&mut self, parameter: &str, shape: &[usize]) -> Option<Vec<f32>> {
        let Some(SourceTensor { name, layout }) = self.source_tensor(parameter) else {
            self.note(Misfit::Unnamed {
                parameter: parameter.to_owned(),
            });
            return None;
        };
        let expected = layout.tensor_shape(shape);
        let Some(tensor) = self.dict.tensor(&name) else {
            self.note(Misfit::Missing { name, expected });
            return None;
        };
        self.used.insert(name.clone());
        let found = dims(tensor);
        if found != expected {
            self.note(Misfit::Shape {
                name,
                expected,
                found,
            });
            return None;
        }
        if self.note_non_finite(&name) {
            return None;
        }
        Some(layout.convert(tensor.iter::<f32>().collect(), shape))
    }

    /// Returns the tensor from which a parameter is loaded: for a tied matrix, the first of its names that
    /// is in the state dict.
    fn source_tensor(&self, parameter: &str) -> Option<SourceTensor> {
        let own = self.names.source_tensor(parameter, self.config);
        let exists = |name: &str| self.dict.tensor(name).is_some();
        if own.as_ref().is_some_and(|own| exists(&own.name)) {
            return own;
        }
        let mut twins = tied(self.config.tying)
            .iter()
            .filter(|(_, first)| *first == parameter)
            .filter_map(|(twin, _)| self.names.source_tensor(twin, self.config));
        let found = twins.find(|twin| exists(&twin.name));
        found.or(own)
    }

    /// Checks that matrices that the config ties are equal.
    fn check_tied(&mut self) {
        for (twin, first) in tied(self.config.tying) {
            let first = self.source_tensor(first).map(|tensor| tensor.name);
            let (Some(name), Some(first)) = (self.names.outside_of_layers(twin), first) else {
                continue;
            };
            let (Some(copy), Some(matrix)) = (self.dict.tensor(name), self.dict.tensor(&first))
            else {
                continue;
            };
            self.used.insert(name.to_owned());
            let is_equal =
                dims(copy) == dims(matrix) && copy.iter::<f32>().eq(matrix.iter::<f32>());
            if !is_equal && !self.note_non_finite(name) && !self.note_non_finite(&first) {
                self.note(Misfit::Untied {
                    name: name.to_owned(),
                    twin: first,
                });
            }
        }
    }

    fn check_output_bias(&mut self) {
        let name = self
            .names
            .output_bias()
            .filter(|_| !self.config.output_bias);
        let Some(name) = name else {
            return;
        };
        let Some(bias) = self.dict.tensor(&name) else {
            return;
        };
        self.used.insert(name.clone());
        if self.note_non_finite(&name) {
            return;
        }
        let largest = bias
            .iter::<f32>()
            .fold(0.0, |largest: f32, value| largest.max(value.abs()));
        if largest > 0.0 {
            self.note(Misfit::OutputBias { name, largest });
        }
    }

    fn check_left_over(&mut self) {
        let is_computed = matches!(
            self.config.positions,
            Positions::Sinusoidal | Positions::SinusoidalHalves
        );
        let dict = self.dict;
        for name in dict.names() {
            let is_positions = name.rsplit('.').next() == Some("pe");
            if self.used.contains(name) || (is_positions && is_computed) {
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

/// Returns the matrices that the model lacks because they are tied, each with the one that is used instead.
fn tied(tying: Tying) -> &'static [(&'static str, &'static str)] {
    match tying {
        Tying::None => &[],
        Tying::Decoder => &[("output.weight", "tgt_vocabulary.weight")],
        Tying::All => &[
            ("tgt_vocabulary.weight", "src_vocabulary.weight"),
            ("output.weight", "src_vocabulary.weight"),
        ],
    }
}

fn dims(tensor: &TensorData) -> Vec<usize> {
    tensor.shape().iter().copied().collect()
}
