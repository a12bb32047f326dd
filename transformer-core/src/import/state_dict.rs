//! [`StateDict`]: tensors by name, as other programs save them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use burn::tensor::{DType, TensorData};
use pytorch_reader::{PytorchError, PytorchReader};
use safetensors::{Dtype, SafeTensorError, SafeTensors};

/// Holds tensors by name.
///
/// A name is the path through the file's dictionaries, joined with dots: `model.encoder.norm.weight`
/// where a checkpoint keeps its weights under `model`.
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
}

/// Says why a file gives no state dict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateDictError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no safetensors file, or a damaged one.
    #[error("`{}` is damaged: it begins like a safetensors file; download or save it again", path.display())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SafeTensorError,
    },
    /// The file is nothing that `torch.save` wrote.
    #[error(
        "`{}` is neither a whole safetensors file nor one of torch.save; get the file again, or save the state \
         dict with one of them",
        path.display()
    )]
    Pytorch {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: PytorchError,
    },
    /// A tensor says one number so often that it takes more memory than the file has bytes.
    #[error(
        "`{name}` in `{}` is {n_bytes} bytes of numbers that are not in the file; save it with `.contiguous()`, or \
         leave it out",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What it would take.
        n_bytes: usize,
    },
    /// A tensor has numbers of a kind that has no place in a model.
    #[error("`{name}` in `{}` has numbers of type {dtype}; save it as float32", path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// The type of its numbers, as the format calls it.
        dtype: String,
    },
}

impl StateDict {
    /// Reads all tensors of a file: safetensors, or what `torch.save` writes, told apart by content.
    ///
    /// A checkpoint that holds more than weights is read whole; [`under`](Self::under) takes the part
    /// that is wanted. No code in a pickle is run.
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
            read_pytorch(path)?
        };
        Ok(Self { tensors })
    }

    /// Returns how many numbers all tensors have.
    pub(crate) fn n_numbers(&self) -> usize {
        self.tensors.values().map(TensorData::num_elements).sum()
    }

    /// Returns the tensors whose names begin with `prefix` and a dot, without both.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        let below = |(name, tensor): (String, TensorData)| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest.to_owned(), tensor))
        };
        Self {
            tensors: self.tensors.into_iter().filter_map(below).collect(),
        }
    }

    /// Returns the names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns a tensor, with numbers of the type that they have in the file.
    pub fn tensor(&self, name: &str) -> Option<&TensorData> {
        self.tensors.get(name)
    }

    /// Puts a tensor in, and returns the one that had this name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: TensorData) -> Option<TensorData> {
        self.tensors.insert(name.into(), tensor)
    }

    /// Takes a tensor out, for example one that the model is to do without.
    pub fn remove(&mut self, name: &str) -> Option<TensorData> {
        self.tensors.remove(name)
    }

    /// Puts the rows of a matrix in another order: row `i` becomes what row `rows[i]` was.
    ///
    /// This is how a vocabulary whose special tokens have other ids than ours is brought in order.
    ///
    /// # Panics
    ///
    /// Panics if there is no tensor of this name, if it has no rows, or not so many.
    pub fn select_rows(&mut self, name: &str, rows: &[usize]) {
        let matrix = self.tensors.get_mut(name);
        let matrix = matrix.unwrap_or_else(|| panic!("the state dict has no tensor `{name}`"));
        let mut shape: Vec<usize> = matrix.shape().iter().copied().collect();
        let n_rows = *shape
            .first()
            .unwrap_or_else(|| panic!("`{name}` is one number and has no rows"));
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

/// A safetensors file begins with the length of its header in 8 bytes, and the header with a brace.
fn is_safetensors(path: &Path) -> io::Result<bool> {
    let file_len = fs::metadata(path)?.len();
    let mut start = Vec::new();
    File::open(path)?.take(9).read_to_end(&mut start)?;
    let Some((header_len, b"{")) = start.split_first_chunk::<8>() else {
        return Ok(false);
    };
    Ok(u64::from_le_bytes(*header_len) <= file_len)
}

fn read_safetensors(path: &Path) -> Result<BTreeMap<String, TensorData>, StateDictError> {
    let bytes = fs::read(path).map_err(|source| StateDictError::Read {
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

/// Most bytes of a tensor that a file holds in part only, because it repeats numbers.
const MOST_REPEATED: u64 = 1 << 28;

fn read_pytorch(path: &Path) -> Result<BTreeMap<String, TensorData>, StateDictError> {
    let not_pytorch = |source| StateDictError::Pytorch {
        path: path.to_owned(),
        source,
    };
    let read_error = |source| StateDictError::Read {
        path: path.to_owned(),
        source,
    };
    let most = fs::metadata(path)
        .map_err(read_error)?
        .len()
        .max(MOST_REPEATED);
    let reader = PytorchReader::new(path).map_err(not_pytorch)?;
    let mut tensors = BTreeMap::new();
    for (name, tensor) in reader.into_tensors() {
        use pytorch_reader::DType as Stored;
        let dtype = match tensor.dtype() {
            Stored::F64 => DType::F64,
            Stored::F32 => DType::F32,
            Stored::F16 => DType::F16,
            Stored::BF16 => DType::BF16,
            Stored::I64 => DType::I64,
            Stored::I32 => DType::I32,
            Stored::I16 => DType::I16,
            Stored::I8 => DType::I8,
            Stored::U64 => DType::U64,
            Stored::U32 => DType::U32,
            Stored::U16 => DType::U16,
            Stored::U8 | Stored::Bool => DType::U8,
        };
        let n_bytes = tensor.byte_len();
        if n_bytes as u64 > most {
            return Err(StateDictError::TooLarge {
                path: path.to_owned(),
                name,
                n_bytes,
            });
        }
        let bytes = tensor.read().map_err(read_error)?;
        let data = TensorData::from_bytes_vec(bytes, tensor.shape().to_vec(), dtype);
        tensors.insert(name, data);
    }
    Ok(tensors)
}
