//! Weights in less precision: smaller model directories that compute as the whole ones do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::store::{ModuleRecord, RecordError};
use burn::tensor::{Bytes, DType, TensorData};
use burn_pack::{Reader, Tensor, Writer};

use super::int8::{Channels, Int8Matrix};
use super::load::LoadError;
use super::{DirectoryError, ModelDirectory, ModelParts, Precision, belongs_to_a_run};

/// What the name of a matrix ends with, and what its scales are called.
const MATRIX: &str = ".weight";
const SCALES: &str = ".scales";

/// The matrices that have a row for each token.
const VOCABULARIES: [&str; 3] = [
    "src_vocabulary.weight",
    "tgt_vocabulary.weight",
    "output.weight",
];

/// Says why there is no model in less precision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// The model was reduced before.
    #[error(
        "`{}` is stored in {found} already; give the model as it was trained",
        path.display()
    )]
    Reduced {
        /// The model.
        path: PathBuf,
        /// Its precision.
        found: Precision,
    },
    /// A model in full precision would be lost.
    #[error(
        "`{}` holds a model in full precision, which would be replaced; choose another directory",
        path.display()
    )]
    Whole {
        /// Where the reduced model was to be written.
        path: PathBuf,
    },
    /// A training run lives in the directory, and a model beside it would get in its way.
    #[error(
        "`{}` is the folder of a training run; choose another directory",
        path.display()
    )]
    Run {
        /// Where the reduced model was to be written.
        path: PathBuf,
    },
    /// A number has no place in the precision.
    #[error(
        "`{tensor}` in `{}` has the number {number}, which {precision} cannot hold; {}",
        path.display(),
        if number.is_finite() { "choose int8" } else { "train again, with a lower learning rate" }
    )]
    Number {
        /// The file with the weights.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The number.
        number: f32,
        /// What it should be stored in.
        precision: Precision,
    },
    /// The weights are no record.
    #[error(
        "`{}` does not hold the weights of a model; restore the file, or train again",
        path.display()
    )]
    Weights {
        /// The file with the weights.
        path: PathBuf,
        /// What Burn said.
        source: RecordError,
    },
    /// The model cannot be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl ModelDirectory {
    /// Writes the model into another directory, with its weights in less precision.
    ///
    /// With [`Precision::Int8`] each matrix, the embeddings too, becomes integers with a scale for each output
    /// channel (symmetric: the largest magnitude is 127); vectors stay as they are. What is lost is lost: a model
    /// that is to be trained further is kept as it was trained. The directory is written as by
    /// [`write`](Self::write). A model that was reduced before is replaced where [`open`](Self::open) finds it,
    /// be it damaged or not. Returns where the model was written.
    ///
    /// # Errors
    ///
    /// Returns a [`ReduceError`] if the model was reduced already, if a number does not fit, if a model in full
    /// precision or a training run is in the way, or if reading or writing fails.
    pub fn write_reduced(
        &self,
        path: impl AsRef<Path>,
        precision: Precision,
    ) -> Result<PathBuf, ReduceError> {
        let found = self.manifest().precision;
        if found != Precision::F32 {
            let path = self.path().to_owned();
            return Err(ReduceError::Reduced { path, found });
        }
        let path = place_for(path.as_ref())?;
        let weights_path = self.weights_path();
        let unreadable = |source| ReduceError::Weights {
            path: weights_path.clone(),
            source,
        };
        let bytes = Bytes::from_bytes_vec(self.read_weights()?);
        let read = Reader::from_bytes(bytes).and_then(Reader::into_tensors);
        let mut reduced = Vec::new();
        for tensor in read.map_err(|error| unreadable(error.into()))? {
            let (name, data, id) = unpack(tensor).map_err(unreadable)?;
            let stored = reduce(&name, &data, precision).map_err(|number| ReduceError::Number {
                path: weights_path.clone(),
                tensor: name.clone(),
                number,
                precision,
            })?;
            reduced.extend(stored.into_iter().map(|(name, data)| pack(name, data, id)));
        }
        let weights = Writer::new(reduced).into_bytes();
        let weights = weights.map_err(|error| unreadable(error.into()))?;
        let parts = ModelParts {
            config: self.config(),
            tokenizers: self.tokenizers(),
            weights: &weights,
            training: self.manifest().training.clone(),
        };
        Self::write_in(&path, &parts, precision)?;
        Ok(path)
    }
}

/// Returns where a reduced model may be written, if that costs nothing that cannot be made anew.
fn place_for(path: &Path) -> Result<PathBuf, ReduceError> {
    let path = match ModelDirectory::find(path) {
        Ok((found, manifest)) if manifest.precision == Precision::F32 => {
            return Err(ReduceError::Whole { path: found });
        }
        Ok((found, _)) => found,
        Err(DirectoryError::Missing { .. } | DirectoryError::NotAModel { .. }) => path.to_owned(),
        // What cannot be told to be a reduced model may be worth something to somebody.
        Err(other) => return Err(other.into()),
    };
    match belongs_to_a_run(&path) {
        true => Err(ReduceError::Run { path }),
        false => Ok(path),
    }
}

/// Returns what is stored for a tensor, or the number that cannot be.
fn reduce(
    name: &str,
    data: &TensorData,
    precision: Precision,
) -> Result<Vec<(String, TensorData)>, f32> {
    let numbers: Vec<f32> = data.iter::<f32>().collect();
    let stored = match precision {
        Precision::F16 => data.clone().convert_dtype(DType::F16),
        Precision::F32 | Precision::Int8 => data.clone(),
    };
    let lost = stored
        .iter::<f32>()
        .zip(&numbers)
        .find_map(|(kept, number)| (!kept.is_finite()).then_some(*number));
    if let Some(number) = lost {
        return Err(number);
    }
    let matrix = match (precision, &data.shape()[..]) {
        (Precision::Int8, &[n_rows, n_columns]) if is_matrix(name, data) => {
            let channels = match VOCABULARIES.contains(&name) {
                true => Channels::Rows,
                false => Channels::Columns,
            };
            Int8Matrix::of(&numbers, [n_rows, n_columns], channels)
        }
        _ => return Ok(vec![(name.to_owned(), stored)]),
    };
    Ok(vec![
        (name.to_owned(), matrix.values),
        (format!("{name}{SCALES}"), matrix.scales),
    ])
}

/// Reads weights that were stored in this precision, as a record of 32-bit floats; `path` is where they come from.
///
/// They are given as bytes: of a file, Burn would read each tensor at its first use, and training may have written another
/// model under the same name by then.
pub(crate) fn read_weights(
    bytes: Vec<u8>,
    path: &Path,
    precision: Precision,
) -> Result<ModuleRecord, LoadError> {
    let failed = |source| LoadError::Weights {
        path: path.to_owned(),
        source,
    };
    let bytes = Bytes::from_bytes_vec(bytes);
    if precision == Precision::F32 {
        return ModuleRecord::from_bytes(bytes).map_err(failed);
    }
    let read = Reader::from_bytes(bytes).and_then(Reader::into_tensors);
    let mut tensors = BTreeMap::new();
    for tensor in read.map_err(|error| failed(error.into()))? {
        let (name, data, id) = unpack(tensor).map_err(failed)?;
        tensors.insert(name, (data, id));
    }
    let mut whole = Vec::new();
    let names: Vec<String> = tensors.keys().cloned().collect();
    for name in names.into_iter().filter(|name| !name.ends_with(SCALES)) {
        let Some((data, id)) = tensors.remove(&name) else {
            continue; // each name is there once
        };
        let scales = tensors.remove(&format!("{name}{SCALES}"));
        let data = match (precision, data.dtype(), scales) {
            (Precision::F16, DType::F16, None) => Some(data.convert_dtype(DType::F32)),
            (Precision::Int8, DType::I8, Some((scales, _))) => {
                let values = data;
                Int8Matrix { values, scales }.to_f32()
            }
            (Precision::Int8, DType::F32, None) if !is_matrix(&name, &data) => Some(data),
            _ => None,
        };
        let Some(data) = data else {
            return Err(LoadError::Precision {
                path: path.to_owned(),
                tensor: name,
                precision,
            });
        };
        whole.push(pack(name, data, id));
    }
    let bytes = Writer::new(whole).into_bytes();
    let record = bytes
        .map_err(RecordError::from)
        .and_then(ModuleRecord::from_bytes);
    record.map_err(failed)
}

fn is_matrix(name: &str, data: &TensorData) -> bool {
    name.ends_with(MATRIX) && data.shape().len() == 2
}

fn unpack(tensor: Tensor) -> Result<(String, TensorData, Option<u64>), RecordError> {
    let (name, dtype, shape, id, bytes) = tensor.into_parts()?;
    Ok((name, TensorData::from_bytes(bytes, shape, dtype), id))
}

fn pack(name: String, data: TensorData, id: Option<u64>) -> Tensor {
    let (bytes, shape, dtype) = data.into_parts();
    Tensor::new(name, dtype, shape, id, bytes)
}
