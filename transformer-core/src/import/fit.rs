//! [`StateDict::to_transformer`]: a model with the weights of a state dict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};

use super::names::{Form, Names, Origin};
use super::state_dict::StateDict;
use crate::config::{ConfigError, Positions, TransformerConfig, Tying};
use crate::model::Transformer;

/// Says why a state dict makes no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The config describes no model.
    #[error("the config describes no model")]
    Config(#[from] ConfigError),
    /// The model is so much larger than the state dict that it is not built to list what is missing.
    #[error(
        "the config describes a model of {n_parameters} parameters, and the state dict has {n_numbers} numbers; \
         correct the config, or get the whole file"
    )]
    TooFew {
        /// How many numbers the model has.
        n_parameters: usize,
        /// How many numbers there are.
        n_numbers: usize,
    },
    /// State dict and config differ.
    #[error("the state dict and the config differ in {} places:{}", misfits.len(), list(misfits))]
    Misfits {
        /// All differences, by the name of the tensor.
        misfits: Vec<Misfit>,
    },
}

/// The largest model that is built to list what a smaller state dict lacks.
const MOST_TO_LIST: usize = 1 << 28;

/// Says in what a state dict and a config differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Misfit {
    /// The model needs a tensor that the state dict does not have.
    Missing {
        /// The tensor.
        name: String,
        /// The shape that it should have.
        expected: Vec<usize>,
    },
    /// The state dict has a tensor that the model has no place for.
    LeftOver {
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A tensor has another shape than the config says.
    Shape {
        /// The tensor.
        name: String,
        /// The shape that it should have.
        expected: Vec<usize>,
        /// The shape that it has.
        found: Vec<usize>,
    },
    /// The names give none to a parameter of the model.
    Unnamed {
        /// Our name of the parameter.
        parameter: String,
    },
    /// The output has a bias, and the config says that it has none.
    OutputBias {
        /// The tensor.
        name: String,
        /// Its largest entry, without sign.
        largest: f32,
    },
    /// Two matrices are one in the config, and two in the state dict.
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
                    "`{name}` is left over; it has the shape {found:?} and no place in the model"
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
            Self::OutputBias { name, largest } => write!(
                f,
                "`{name}` is not zero (its largest entry is {largest}), but the config has no bias at the \
                 output; choose `output_bias: true`"
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
    /// Weights become single precision. What a state dict does not say must be right in the config:
    /// `n_heads`, `norm_placement`, `activation`, `norm_epsilon`, `scale_embeddings`, the kind of
    /// `positions`. Where the config ties matrices, the state dict may have the matrix once, or several
    /// times alike. Buffers that are named `pe` are passed over where positions are sinusoidal: they are
    /// computed. A bias of the output that the config has not is passed over if it is zero.
    ///
    /// # Errors
    ///
    /// Returns an [`ImportError`] that lists every tensor that is missing, left over or of another
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
    ///     // The nearest to (std + 1e-6) where the deviation is 1.
    ///     norm_epsilon: 2e-6,
    ///     tying: Tying::None,
    ///     ..TransformerConfig::tiny(11, 11)
    /// };
    /// let (_, device) = device::choose(None)?;
    /// // In earnest: StateDict::read("annotated.pt")?
    /// let weights = StateDict::default();
    /// let error = weights.to_transformer(&config, &Names::Annotated, &device);
    /// let Err(ImportError::Misfits { misfits }) = error else { panic!("it has no weights") };
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
        let (n_parameters, n_numbers) = (config.parameter_count(), self.n_numbers());
        if n_parameters > n_numbers.max(MOST_TO_LIST) {
            return Err(ImportError::TooFew {
                n_parameters,
                n_numbers,
            });
        }
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
        fit.check_twins();
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

/// Replaces every parameter by what the state dict has for it, and notes what does not fit.
struct Fit<'a> {
    dict: &'a StateDict,
    config: &'a TransformerConfig,
    names: &'a Names,
    /// Where in the model the mapping is.
    path: Vec<String>,
    /// The tensors that have a place.
    used: BTreeSet<String>,
    /// What does not fit, by name: three parameters can come from one tensor.
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
        let Some(numbers) = self.numbers(&self.path.join("."), &shape) else {
            return param;
        };
        let is_tracked = param.is_require_grad();
        let data = TensorData::new(numbers, shape);
        let param = param.map(|old| Tensor::from_data(data, &old.device()));
        match is_tracked {
            true => param.set_require_grad(true),
            false => param,
        }
    }
}

impl Fit<'_> {
    /// Returns a parameter's numbers in our layout, unless something is wrong with them.
    fn numbers(&mut self, parameter: &str, shape: &[usize]) -> Option<Vec<f32>> {
        let Some(Origin { name, form }) = self.origin(parameter) else {
            self.note(Misfit::Unnamed {
                parameter: parameter.to_owned(),
            });
            return None;
        };
        let expected = form.shape_there(shape);
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
        Some(form.to_ours(tensor.iter::<f32>().collect(), shape))
    }

    /// Returns where a parameter comes from: of several names that a tied matrix can have, the first
    /// that there is.
    fn origin(&self, parameter: &str) -> Option<Origin> {
        let own = self.names.origin(parameter, self.config);
        let is_there = |name: &str| self.dict.tensor(name).is_some();
        if own.as_ref().is_some_and(|own| is_there(&own.name)) {
            return own;
        }
        let twins = twins(self.config.tying)
            .iter()
            .filter(|(_, first)| *first == parameter)
            .filter_map(|(twin, _)| self.names.origin(twin, self.config));
        let there = twins.into_iter().find(|twin| is_there(&twin.name));
        there.or(own)
    }

    /// Checks that matrices that the config ties are alike.
    fn check_twins(&mut self) {
        for (twin, first) in twins(self.config.tying) {
            let first = self.origin(first).map(|origin| origin.name);
            let (Some(name), Some(first)) = (self.names.outside(twin), first) else {
                continue;
            };
            let (Some(copy), Some(matrix)) = (self.dict.tensor(name), self.dict.tensor(&first))
            else {
                continue;
            };
            self.used.insert(name.to_owned());
            let is_alike =
                dims(copy) == dims(matrix) && copy.iter::<f32>().eq(matrix.iter::<f32>());
            if !is_alike {
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
        let largest = bias
            .iter::<f32>()
            .fold(0.0, |largest: f32, entry| largest.max(entry.abs()));
        // A bias of NaN is not zero either.
        if !bias.iter::<f32>().all(|entry| entry == 0.0) {
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

    fn note(&mut self, misfit: Misfit) {
        self.misfits.insert(misfit.name().to_owned(), misfit);
    }
}

/// Returns the matrices that the config has not, each with the one that serves in its place.
fn twins(tying: Tying) -> &'static [(&'static str, &'static str)] {
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

impl Form {
    /// Returns the shape of the tensor that a parameter of this shape comes from.
    fn shape_there(self, ours: &[usize]) -> Vec<usize> {
        match (self, ours) {
            (Self::Linear, [d_in, d_out]) => vec![*d_out, *d_in],
            (Self::Packed { n_rows, .. }, [d_in, _]) => vec![n_rows, *d_in],
            (Self::Packed { n_rows, .. }, _) => vec![n_rows],
            (Self::Same | Self::Scaled(_) | Self::Linear, _) => ours.to_vec(),
        }
    }

    /// Brings the numbers of the tensor into our layout.
    fn to_ours(self, numbers: Vec<f32>, ours: &[usize]) -> Vec<f32> {
        match (self, ours) {
            (Self::Linear, [d_in, _]) => transpose(&numbers, *d_in),
            (Self::Packed { start, .. }, [d_in, d_out]) => {
                transpose(&numbers[start * d_in..][..d_out * d_in], *d_in)
            }
            (Self::Packed { start, .. }, _) => numbers[start..][..ours.iter().product()].to_vec(),
            (Self::Scaled(factor), _) => {
                let scale = |number| (f64::from(number) * factor) as f32;
                numbers.into_iter().map(scale).collect()
            }
            (Self::Same | Self::Linear, _) => numbers,
        }
    }
}

/// Turns rows of `n_columns` numbers into columns.
fn transpose(numbers: &[f32], n_columns: usize) -> Vec<f32> {
    let column = |first: usize| numbers[first..].iter().step_by(n_columns).copied();
    (0..n_columns).flat_map(column).collect()
}
