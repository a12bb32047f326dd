//! [`StoredTensors`]: the weights of a model by name, in their stored precision.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use burn::module::ParamId;
use burn::tensor::{DType, TensorData, f16};
use rayon::prelude::*;

use super::int8::Int8Matrix;
use super::stored_weights::{NamedTensor, SCALES, channels_of};
use super::{LoadError, ModelDirectory, Precision};
use crate::model::{Transformer, named_parameters};

/// The name in errors about a model that is not in a file.
const IN_MEMORY: &str = "a model in memory";

/// All tensors of a model, by the names of a record, until they are taken.
#[derive(Debug)]
pub(crate) struct StoredTensors {
    path: PathBuf,
    precision: Precision,
    tensors: BTreeMap<String, Mutex<Option<Entry>>>,
}

#[derive(Debug)]
struct Entry {
    values: TensorData,
    /// Present if the values are integers of a record.
    scales: Option<TensorData>,
    /// Present if the values are integers of another program.
    divisor: Option<f32>,
    id: Option<u64>,
}

/// The values of a tensor in row-major order, by their type.
#[derive(Clone, Debug)]
pub(crate) enum StoredTensor {
    /// Floats, perhaps converted from 16-bit floats.
    F32(Vec<f32>),
    /// A matrix of integers. Its elements are `values · scales`.
    Int8 {
        /// Values.
        values: Vec<i8>,
        /// One scale for each output channel: for each row of a matrix with a row per token, and for each column of all
        /// other matrices.
        scales: Vec<f32>,
    },
    /// A matrix of integers. Its elements are `values / divisor`.
    Divided {
        /// Values.
        values: Vec<i8>,
        /// The number by which another program multiplied the elements.
        divisor: f32,
    },
}

impl ModelDirectory {
    /// Reads the weights, and checks them against the manifest. Later changes to the file do not affect the tensors.
    pub(crate) fn stored_tensors(&self) -> Result<StoredTensors, LoadError> {
        let path = self.weights_path();
        let precision = self.manifest().precision;
        let bytes = self.manifest().files.weights.bytes;
        let n_parameters = self.config().parameter_count();
        if bytes / precision.element_bytes() < n_parameters as u64 {
            return Err(LoadError::TooSmall {
                path,
                bytes,
                n_parameters,
            });
        }
        let tensors = self.read_weights()?;
        let tensors = tensors.map_err(|source| LoadError::Weights {
            path: path.clone(),
            source,
        })?;
        StoredTensors::from_file(tensors, precision, path)
    }
}

impl StoredTensors {
    fn from_file(
        tensors: Vec<NamedTensor>,
        precision: Precision,
        path: PathBuf,
    ) -> Result<Self, LoadError> {
        let mut entries = BTreeMap::new();
        let mut all_scales = BTreeMap::new();
        for (name, values, id) in tensors {
            let is_int8 = precision == Precision::Int8;
            match name.strip_suffix(SCALES).filter(|_| is_int8) {
                Some(matrix) => drop(all_scales.insert(matrix.to_owned(), values)),
                None => {
                    entries.insert(name, Entry::new(values, id));
                }
            }
        }
        for (matrix, scales) in all_scales {
            match entries.get_mut(&matrix) {
                Some(entry) => entry.scales = Some(scales),
                None => {
                    return Err(LoadError::Missing {
                        path,
                        tensor: matrix,
                    });
                }
            }
        }
        let mut tensors = entries.iter();
        let other = tensors.find(|(name, entry)| !entry.is_stored_in(precision, name));
        let other = other.map(|(name, _)| name.clone());
        let entries = entries.into_iter();
        let stored = Self {
            path,
            precision,
            tensors: entries
                .map(|(name, it)| (name, Mutex::new(Some(it))))
                .collect(),
        };
        match other {
            Some(name) => Err(stored.other_precision(&name)),
            None => Ok(stored),
        }
    }

    /// Collects the tensors of a model, as 32-bit floats; adapters are merged.
    pub(crate) fn of_model(model: &Transformer) -> Self {
        let tensors = named_parameters(&model.clone().merge_adapters());
        let tensors = tensors.into_iter().map(|(name, it)| (name, it, None));
        Self::in_memory(tensors.collect())
    }

    /// Takes tensors by name, as 32-bit floats. 8-bit integers with a divisor become floats when they are taken.
    pub(crate) fn in_memory(tensors: Vec<(String, TensorData, Option<f32>)>) -> Self {
        let entry = |values: TensorData, divisor: Option<f32>| {
            let values = match values.dtype() {
                DType::F32 => values,
                DType::I8 if divisor.is_some() => values,
                _ => {
                    let floats: Vec<f32> = values.iter::<f32>().collect();
                    TensorData::new(floats, values.shape().clone())
                }
            };
            let entry = Entry::new(values, None);
            Mutex::new(Some(Entry { divisor, ..entry }))
        };
        let tensors = tensors.into_iter();
        let tensors = tensors.map(|(name, values, divisor)| (name, entry(values, divisor)));
        Self {
            path: PathBuf::from(IN_MEMORY),
            precision: Precision::F32,
            tensors: tensors.collect(),
        }
    }

    /// Removes the tensor of this name and shape, and returns it.
    pub(crate) fn take(&self, name: &str, expected: &[usize]) -> Result<StoredTensor, LoadError> {
        let tensor = self.take_entry(name, expected)?.into_tensor();
        tensor.ok_or_else(|| self.other_precision(name))
    }

    /// Removes the tensor of this name and shape, and returns it as 32-bit floats with the parameter's id.
    pub(super) fn take_floats(
        &self,
        name: &str,
        expected: &[usize],
    ) -> Result<(TensorData, ParamId), LoadError> {
        let entry = self.take_entry(name, expected)?;
        let id = entry.id.map_or_else(ParamId::new, ParamId::from);
        let values = match entry {
            Entry {
                values,
                scales: Some(scales),
                ..
            } => channels_of(name, expected)
                .and_then(|channels| Int8Matrix { values, scales }.to_f32(channels)),
            entry => {
                let floats = entry.into_tensor().and_then(StoredTensor::into_floats);
                floats.map(|floats| TensorData::new(floats, expected))
            }
        };
        let values = values.ok_or_else(|| self.other_precision(name))?;
        Ok((values, id))
    }

    fn take_entry(&self, name: &str, expected: &[usize]) -> Result<Entry, LoadError> {
        let lock = |entry| Mutex::lock(entry).unwrap_or_else(PoisonError::into_inner);
        let mut entry = self.tensors.get(name).map(lock);
        let entry = entry.as_mut().and_then(|entry| entry.take());
        let entry = entry.ok_or_else(|| LoadError::Missing {
            path: self.path.clone(),
            tensor: name.to_owned(),
        })?;
        match &entry.values.shape()[..] {
            found if found == expected => Ok(entry),
            found => Err(LoadError::Shape {
                path: self.path.clone(),
                tensor: name.to_owned(),
                found: found.to_vec(),
                expected: expected.to_vec(),
            }),
        }
    }

    /// Checks that every tensor of the file was taken: a model that ignores part of its weights is another model.
    pub(crate) fn check_all_taken(self) -> Result<(), LoadError> {
        let is_left = |entry: Mutex<Option<Entry>>| matches!(entry.into_inner(), Ok(Some(_)));
        let mut tensors = self.tensors.into_iter();
        match tensors.find_map(|(name, entry)| is_left(entry).then_some(name)) {
            Some(tensor) => Err(LoadError::Unused {
                path: self.path,
                tensor,
            }),
            None => Ok(()),
        }
    }

    fn other_precision(&self, name: &str) -> LoadError {
        LoadError::Precision {
            path: self.path.clone(),
            tensor: name.to_owned(),
            precision: self.precision,
        }
    }
}

impl StoredTensor {
    /// Returns the elements; `None` if they have scales, which need to know the axis.
    pub(crate) fn into_floats(self) -> Option<Vec<f32>> {
        match self {
            Self::F32(values) => Some(values),
            Self::Divided { values, divisor } => {
                let values = values.into_iter();
                Some(values.map(|value| f32::from(value) / divisor).collect())
            }
            Self::Int8 { .. } => None,
        }
    }
}

impl Entry {
    fn new(values: TensorData, id: Option<u64>) -> Self {
        Self {
            values,
            scales: None,
            divisor: None,
            id,
        }
    }

    fn is_stored_in(&self, precision: Precision, name: &str) -> bool {
        let Self { values, scales, .. } = self;
        match (precision, values.dtype(), scales) {
            (Precision::F32, DType::F32, None) | (Precision::F16, DType::F16, None) => true,
            (Precision::Int8, DType::F32, None) => channels_of(name, values.shape()).is_none(),
            (Precision::Int8, DType::I8, Some(scales)) => channels_of(name, values.shape())
                .is_some_and(|channels| Int8Matrix::is_valid(values, scales, channels)),
            _ => false,
        }
    }

    /// Returns the values; `None` if their type belongs to no precision.
    fn into_tensor(self) -> Option<StoredTensor> {
        let Self {
            values,
            scales,
            divisor,
            ..
        } = self;
        if let Some(divisor) = divisor {
            let values = values.try_into_vec().ok()?;
            return Some(StoredTensor::Divided { values, divisor });
        }
        Some(match (values.dtype(), scales) {
            (_, Some(scales)) => StoredTensor::Int8 {
                values: values.try_into_vec().ok()?,
                scales: scales.try_into_vec().ok()?,
            },
            (DType::F32, None) => StoredTensor::F32(values.try_into_vec().ok()?),
            (_, None) => {
                let halves = values.as_slice::<f16>().ok()?.par_iter();
                StoredTensor::F32(halves.map(|value| value.to_f32()).collect())
            }
        })
    }
}
