//! [`StateDict`]: named tensors, as other programs save them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use burn::tensor::{DType, TensorData};
use safetensors::{Dtype, SafeTensors};

use super::pytorch;
use crate::regular_file;

/// Named tensors.
///
/// A name is the path through the dictionaries of the file, joined by dots: `model.encoder.norm.weight` if a
/// checkpoint has its weights under `model`.
///
/// # Example
///
/// ```
/// use burn::tensor::TensorData;
/// use transformer_core::import::StateDict;
///
/// let mut checkpoint = StateDict::default();
/// checkpoint.insert("model.output.weight", TensorData::from([[1.5, 2.0]]));
/// checkpoint.insert("optimizer.state.0.step", TensorData::from([7.0]));
/// let weights = checkpoint.under("model");
/// assert_eq!(weights.names().collect::<Vec<_>>(), ["output.weight"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: BTreeMap<String, TensorData>,
    /// The numbers by which values of some tensors of 8-bit integers must be divided.
    divisors: BTreeMap<String, f32>,
}

impl StateDict {
    /// Reads all tensors of a safetensors or `torch.save` file; the format is detected from the content.
    ///
    /// For a checkpoint with more than weights, select a part with [`under`](Self::under). No code in a pickle is run.
    /// Files of `torch.save` need the cargo feature `pytorch`, which is on by default.
    ///
    /// # Errors
    ///
    /// Returns a [`StateDictError`] that names the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, StateDictError> {
        let path = path.as_ref();
        let is_safetensors = is_safetensors(path).map_err(|source| StateDictError::Read {
            path: path.to_owned(),
            source,
        })?;
        let tensors = if is_safetensors {
            read_safetensors(path)?
        } else {
            pytorch::read(path)?
        };
        Ok(Self {
            tensors,
            ..Self::default()
        })
    }

    pub(crate) fn n_values(&self) -> usize {
        self.tensors.values().map(TensorData::num_elements).sum()
    }

    /// Returns the tensors with names that start with `prefix` and a dot, and strips both from the names.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        fn below<T>(tensors: BTreeMap<String, T>, prefix: &str) -> BTreeMap<String, T> {
            let rest = |name: String| {
                name.strip_prefix(prefix)?
                    .strip_prefix('.')
                    .map(str::to_owned)
            };
            let tensors = tensors.into_iter();
            tensors
                .filter_map(|(name, it)| Some((rest(name)?, it)))
                .collect()
        }
        Self {
            tensors: below(self.tensors, prefix),
            divisors: below(self.divisors, prefix),
        }
    }

    /// Returns the names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns a tensor, in the data type that it has in the file.
    pub fn tensor(&self, name: &str) -> Option<&TensorData> {
        self.tensors.get(name)
    }

    /// Finds the first value of a tensor that is NaN or infinite in single precision, or larger than [`MAX_WEIGHT`].
    pub(crate) fn find_non_finite(&self, name: &str) -> Option<NonFinite> {
        let tensor = self.tensor(name)?;
        // Most files have these types, and a slice is read much faster.
        let (mut index, value) = match (tensor.as_slice::<f32>(), self.divided(name)) {
            (Ok(values), _) => first_non_finite(values.iter().copied())?,
            (_, Some((integers, divisor))) => {
                first_non_finite(integers.iter().map(|it| f32::from(*it) / divisor))?
            }
            _ => first_non_finite(tensor.iter::<f32>())?,
        };
        let mut position = Vec::new();
        for &len in tensor.shape().iter().rev() {
            position.insert(0, index % len);
            index /= len;
        }
        Some(NonFinite {
            name: name.to_owned(),
            position,
            value,
        })
    }

    /// Inserts a tensor, and returns the previous one of this name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: TensorData) -> Option<TensorData> {
        let name = name.into();
        self.divisors.remove(&name);
        self.tensors.insert(name, tensor)
    }

    /// Inserts a tensor of 8-bit integers, with the number by which they must be divided.
    pub(crate) fn insert_divided(&mut self, name: &str, integers: TensorData, divisor: f32) {
        self.insert(name, integers);
        self.divisors.insert(name.to_owned(), divisor);
    }

    /// Returns the integers and the divisor of a tensor that has one.
    pub(crate) fn divided(&self, name: &str) -> Option<(&[i8], f32)> {
        let divisor = self.divisors.get(name)?;
        let integers = self.tensors.get(name)?.as_slice().ok()?;
        Some((integers, *divisor))
    }

    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f32>> {
        Some(match self.divided(name) {
            Some((integers, divisor)) => {
                let integers = integers.iter();
                integers.map(|it| f32::from(*it) / divisor).collect()
            }
            None => self.tensors.get(name)?.iter::<f32>().collect(),
        })
    }

    /// Makes floats of all tensors that have a divisor.
    pub(crate) fn into_floats(mut self) -> Self {
        let names: Vec<String> = self.divisors.keys().cloned().collect();
        for name in names {
            if let (Some(floats), Some(tensor)) = (self.floats(&name), self.tensor(&name)) {
                let tensor = TensorData::new(floats, tensor.shape().clone());
                self.insert(name, tensor);
            }
        }
        self
    }

    /// Removes and returns a tensor, for example one that the model does not need.
    pub fn remove(&mut self, name: &str) -> Option<TensorData> {
        self.divisors.remove(name);
        self.tensors.remove(name)
    }

    /// Reorders the rows of a matrix: the new row `i` is the old row `rows[i]`.
    ///
    /// Use it for a vocabulary with other ids of special tokens than ours.
    ///
    /// # Panics
    ///
    /// Panics if there is no tensor of this name, or if it does not have these rows.
    pub fn select_rows(&mut self, name: &str, rows: &[usize]) {
        let matrix = self.tensors.get_mut(name);
        let matrix = matrix.unwrap_or_else(|| panic!("the state dict has no tensor `{name}`"));
        let mut shape: Vec<usize> = matrix.shape().iter().copied().collect();
        let n_rows = *shape
            .first()
            .unwrap_or_else(|| panic!("`{name}` is a scalar and has no rows"));
        let row_bytes = matrix.as_bytes().len().checked_div(n_rows).unwrap_or(0);
        let mut bytes = Vec::with_capacity(rows.len() * row_bytes);
        for &row in rows {
            assert!(row < n_rows, "`{name}` has {n_rows} rows, and no row {row}");
            bytes.extend_from_slice(&matrix.as_bytes()[row * row_bytes..][..row_bytes]);
        }
        shape[0] = rows.len();
        *matrix = TensorData::from_bytes_vec(bytes, shape, matrix.dtype());
    }
}

/// Maximum magnitude of a weight: normalization squares values, and the square of a larger one can be infinite.
const MAX_WEIGHT: f32 = 1e15;

/// A value of a tensor that is NaN or infinite in single precision, or large enough to make results so.
#[derive(Clone, Debug, PartialEq)]
pub struct NonFinite {
    /// The tensor.
    pub name: String,
    /// The position of the value, counted from 0; empty for a scalar.
    pub position: Vec<usize>,
    /// The value.
    pub value: f32,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            position,
            value,
        } = self;
        if value.is_finite() {
            return write!(
                f,
                "`{name}` is {value:e} at {position:?}; with a weight beyond {MAX_WEIGHT:e} a model can compute NaN: get the \
                 file again, or a checkpoint from before its training diverged"
            );
        }
        write!(
            f,
            "`{name}` is {value} at {position:?}, in single precision; every weight must be finite: get the file \
             again, or a checkpoint from before its training diverged"
        )
    }
}

fn first_non_finite(values: impl Iterator<Item = f32>) -> Option<(usize, f32)> {
    let is_sound = |value: f32| value.is_finite() && value.abs() <= MAX_WEIGHT;
    values.enumerate().find(|(_, value)| !is_sound(*value))
}

/// Checks for the start of a safetensors file: the length of the header in 8 bytes, then a brace.
fn is_safetensors(path: &Path) -> io::Result<bool> {
    let file_len = fs::metadata(path)?.len();
    let mut start = Vec::new();
    regular_file::open(path)?.take(9).read_to_end(&mut start)?;
    let Some((header_len, b"{")) = start.split_first_chunk::<8>() else {
        return Ok(false);
    };
    Ok(u64::from_le_bytes(*header_len) <= file_len)
}

fn read_safetensors(path: &Path) -> Result<BTreeMap<String, TensorData>, StateDictError> {
    let bytes = regular_file::read(path, u64::MAX).map_err(|source| StateDictError::Read {
        path: path.to_owned(),
        source,
    })?;
    let damaged = |source| StateDictError::Safetensors {
        path: path.to_owned(),
        source,
    };
    let file = SafeTensors::deserialize(&bytes).map_err(damaged)?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        let dtype = match view.dtype() {
            Dtype::F64 => DType::F64,
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            Dtype::I64 => DType::I64,
            Dtype::I32 => DType::I32,
            Dtype::I16 => DType::I16,
            Dtype::I8 => DType::I8,
            Dtype::U64 => DType::U64,
            Dtype::U32 => DType::U32,
            Dtype::U16 => DType::U16,
            Dtype::U8 | Dtype::BOOL => DType::U8,
            other => {
                return Err(StateDictError::Dtype {
                    path: path.to_owned(),
                    name: name.to_owned(),
                    dtype: format!("{other:?}"),
                });
            }
        };
        let data = TensorData::from_bytes_vec(view.data().to_vec(), view.shape().to_vec(), dtype);
        tensors.insert(name.to_owned(), data);
    }
    Ok(tensors)
}

#[cfg(feature = "pytorch")]
use pytorch_reader::PytorchError;
use safetensors::SafeTensorError;

/// Error in reading a file as a state dict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum StateDictError {
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` is damaged: it starts like a safetensors file; download or save it again")]
    Safetensors {
        path: PathBuf,
        source: SafeTensorError,
    },
    #[cfg(feature = "pytorch")]
    #[error(
        "`{path}` is neither a complete safetensors file nor one of torch.save; get the file again, or save the state \
         dict with one of them"
    )]
    Pytorch { path: PathBuf, source: PytorchError },
    #[error(
        "`{path}` is not a safetensors file, and this program was built without the cargo feature `pytorch`, which reads \
         files of torch.save; build it with that feature, or save the state dict as safetensors"
    )]
    NoPytorch { path: PathBuf },
    #[cfg(feature = "pytorch")]
    #[error(
        "`{name}` in `{path}` repeats its values to {n_bytes} bytes, more than the file has; save it with \
         `.contiguous()`, or leave it out"
    )]
    TooLarge {
        path: PathBuf,
        name: String,
        n_bytes: usize,
    },
    #[error("`{name}` in `{path}` has the data type {dtype}; save it as float32")]
    Dtype {
        path: PathBuf,
        name: String,
        dtype: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_with_a_divisor_are_floats_in_checks_and_after_conversion() {
        let integers = || TensorData::new(vec![3_i8, -1, 0, 127], [2, 2]);
        let mut dict = StateDict::default();
        dict.insert_divided("model.w", integers(), 4.0);
        let dict = dict.under("model");
        assert_eq!(dict.divided("w"), Some((&[3, -1, 0, 127][..], 4.0)));
        assert_eq!(dict.find_non_finite("w"), None);
        let floats = dict.into_floats();
        assert_eq!(floats.divided("w"), None);
        let expected = TensorData::new(vec![0.75_f32, -0.25, 0.0, 31.75], [2, 2]);
        assert_eq!(floats.tensor("w"), Some(&expected));

        let mut dict = StateDict::default();
        dict.insert_divided("w", integers(), f32::MIN_POSITIVE);
        let found = dict.find_non_finite("w").expect("a quotient is too large");
        assert_eq!(found.position, [0, 0]);
        // Another tensor of the name has no divisor.
        dict.insert("w", integers());
        assert_eq!(dict.floats("w"), Some(vec![3.0, -1.0, 0.0, 127.0]));
    }
}
