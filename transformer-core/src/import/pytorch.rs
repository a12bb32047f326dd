//! Files of `torch.save`. No code in a pickle is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::{DType, TensorData};
use pytorch_reader::{PickleValue, PytorchReader};

use super::StateDictError;

/// Maximum size in bytes of a tensor that repeats its values, if the file is smaller.
const MAX_REPEATED: u64 = 1 << 28;

pub(super) fn read(path: &Path) -> Result<BTreeMap<String, TensorData>, StateDictError> {
    let not_pytorch = |source| StateDictError::Pytorch {
        path: path.to_owned(),
        source,
    };
    let read_error = |source| StateDictError::Read {
        path: path.to_owned(),
        source,
    };
    let max_bytes = fs::metadata(path)
        .map_err(read_error)?
        .len()
        .max(MAX_REPEATED);
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
        if n_bytes as u64 > max_bytes {
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

/// Returns the names at the top of a pickled dictionary; none if the file is something else.
pub(super) fn top_names(path: &Path) -> Vec<String> {
    match PytorchReader::read_pickle_data(path, None) {
        Ok(PickleValue::Dict(entries)) => entries.into_keys().collect(),
        _ => Vec::new(),
    }
}
