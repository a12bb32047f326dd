//! [`StoredTensors`]: the weights of a model by name, in their stored precision.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use burn::module::ParamId;
use burn::tensor::{Bytes, DType, TensorData, f16};
use rayon::prelude::*;

use super::int8::Int8Matrix;
use super::stored_weights::{SCALES, channels_of, unpack};
use super::{LoadError, ModelDirectory, Precision};
use crate::model::{Transformer, named_parameters};

/// The name in errors about a model that is not in a file.
const IN_MEMORY: &str = "a model in memory";

/// Maximum size of weights that stay in memory as a whole for the vectors of tokens. From larger ones the vectors are
/// copied, and the rest is freed.
const MAX_SHARED_BYTES: usize = 32 << 20;

/// All tensors of a model, by the names of a record.
#[derive(Debug)]
pub(crate) struct StoredTensors {
    /// The file, for errors.
    path: PathBuf,
    precision: Precision,
    tensors: BTreeMap<String, Entry>,
}

/// A tensor in the file, without a copy of its values.
#[derive(Debug)]
struct Entry {
    values: TensorData,
    /// Present if the values are integers.
    scales: Option<TensorData>,
    /// The parameter's id.
    id: Option<u64>,
    /// Set when the tensor is first returned, perhaps to one of several threads that pack the weights.
    is_used: AtomicBool,
}

/// The values of a tensor in row-major order, by their type.
#[derive(Clone, Debug)]
pub(crate) enum StoredTensor<'a> {
    /// Floats: borrowed, or converted from 16-bit floats.
    F32(Cow<'a, [f32]>),
    /// A matrix of integers. Its elements are `values · scales`.
    Int8 {
        /// Values.
        values: &'a [i8],
        /// One scale for each output channel: for each row of a matrix with a row per token, and for each column of all
        /// other matrices.
        scales: &'a [f32],
    },
}

impl ModelDirectory {
    /// Reads the weights, and checks them against the manifest.
    ///
    /// Later changes to the file do not affect the tensors.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the file is missing or changed, is too small for the model, is not a record, or has a
    /// tensor in another precision than the manifest says.
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
        StoredTensors::parse(self.read_weights()?, precision, &path)
    }
}

impl StoredTensors {
    /// Parses the bytes of a record in this precision. `path` is for errors.
    fn parse(bytes: Bytes, precision: Precision, path: &Path) -> Result<Self, LoadError> {
        let tensors = unpack(bytes);
        let tensors = tensors.map_err(|source| LoadError::Weights {
            path: path.to_owned(),
            source,
        })?;
        let mut entries = BTreeMap::new();
        let mut all_scales = BTreeMap::new();
        for (name, data, id) in tensors {
            let values = aligned(data);
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
                        path: path.to_owned(),
                        tensor: matrix,
                    });
                }
            }
        }
        let stored = Self {
            path: path.to_owned(),
            precision,
            tensors: entries,
        };
        let mut tensors = stored.tensors.iter();
        match tensors.find(|(name, entry)| !entry.is_stored_in(precision, name)) {
            Some((name, _)) => Err(stored.other_precision(name)),
            None => Ok(stored),
        }
    }

    /// Collects the tensors of a model, as 32-bit floats; adapters are merged.
    pub(crate) fn of_model(model: &Transformer) -> Self {
        Self::in_memory(named_parameters(&model.clone().merge_adapters()))
    }

    /// Takes tensors by name, as 32-bit floats.
    pub(crate) fn in_memory(tensors: Vec<(String, TensorData)>) -> Self {
        let entry = |values: TensorData| Entry::new(values.convert_dtype(DType::F32), None);
        let tensors = tensors.into_iter().map(|(name, it)| (name, entry(it)));
        Self {
            path: PathBuf::from(IN_MEMORY),
            precision: Precision::F32,
            tensors: tensors.collect(),
        }
    }

    /// Returns the tensor of this name and shape.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] that names file and tensor if there is none, or if it has another shape.
    pub(crate) fn get(
        &self,
        name: &str,
        expected: &[usize],
    ) -> Result<StoredTensor<'_>, LoadError> {
        let entry = self.find(name, expected)?;
        entry.is_used.store(true, Ordering::Relaxed);
        entry.view().ok_or_else(|| self.other_precision(name))
    }

    /// Returns the bytes of the values without a copy, if the file is small: they keep all of its content in memory.
    pub(crate) fn share(&self, name: &str) -> Option<Bytes> {
        let n_bytes: usize = self
            .tensors
            .values()
            .map(|it| it.values.bytes().len())
            .sum();
        let bytes = self.tensors.get(name)?.values.bytes();
        let view = (n_bytes <= MAX_SHARED_BYTES).then(|| bytes.view(0, bytes.len()));
        view?.ok()
    }

    fn find(&self, name: &str, expected: &[usize]) -> Result<&Entry, LoadError> {
        let entry = self.tensors.get(name).ok_or_else(|| LoadError::Missing {
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

    /// Checks that every tensor of the file was read with [`get`](Self::get) or [`take`](Self::take): a model that
    /// ignores part of its weights is another model.
    pub(crate) fn check_all_used(&self) -> Result<(), LoadError> {
        let mut tensors = self.tensors.iter();
        match tensors.find(|(_, entry)| !entry.is_used.load(Ordering::Relaxed)) {
            Some((name, _)) => Err(LoadError::Unused {
                path: self.path.clone(),
                tensor: name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Removes the tensor of this name and shape, and returns it as 32-bit floats with the parameter's id.
    pub(super) fn take(
        &mut self,
        name: &str,
        expected: &[usize],
    ) -> Result<(TensorData, ParamId), LoadError> {
        self.find(name, expected)?;
        let entry = self.tensors.remove(name);
        let Entry {
            values, scales, id, ..
        } = entry.expect("it was just found");
        let values = match (values.dtype(), scales) {
            (DType::F32, _) => Some(values),
            (_, Some(scales)) => channels_of(name, expected)
                .and_then(|channels| Int8Matrix { values, scales }.to_f32(channels)),
            (_, None) => to_f32(&values).map(|floats| TensorData::new(floats, expected)),
        };
        let values = values.ok_or_else(|| self.other_precision(name))?;
        Ok((values, id.map_or_else(ParamId::new, ParamId::from)))
    }

    fn other_precision(&self, name: &str) -> LoadError {
        LoadError::Precision {
            path: self.path.clone(),
            tensor: name.to_owned(),
            precision: self.precision,
        }
    }
}

impl Entry {
    fn new(values: TensorData, id: Option<u64>) -> Self {
        Self {
            values,
            scales: None,
            id,
            is_used: AtomicBool::new(false),
        }
    }

    /// Returns whether the tensor of this name is stored in the precision.
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

    /// Returns the tensor; `None` if its type belongs to no precision.
    fn view(&self) -> Option<StoredTensor<'_>> {
        let Self { values, scales, .. } = self;
        Some(match (values.dtype(), scales) {
            (DType::F32, _) => StoredTensor::F32(Cow::Borrowed(values.as_slice().ok()?)),
            (_, None) => StoredTensor::F32(Cow::Owned(to_f32(values)?)),
            (_, Some(scales)) => StoredTensor::Int8 {
                values: values.as_slice().ok()?,
                scales: scales.as_slice().ok()?,
            },
        })
    }
}

/// Converts 16-bit floats.
fn to_f32(values: &TensorData) -> Option<Vec<f32>> {
    let values = values.as_slice::<f16>().ok()?;
    Some(values.par_iter().map(|value| value.to_f32()).collect())
}

/// Copies 32-bit floats with an address that a slice cannot have. The writers of records align them.
fn aligned(data: TensorData) -> TensorData {
    if data.dtype() != DType::F32 || data.as_slice::<f32>().is_ok() {
        return data;
    }
    let (bytes, shape, dtype) = data.into_parts();
    TensorData::from_bytes(Bytes::from_bytes_vec(bytes.to_vec()), shape, dtype)
}
