//! Stub of `pytorch.rs` for builds without the feature `pytorch`.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;

use super::StateDictError;

pub(super) fn read(path: &Path) -> Result<BTreeMap<String, TensorData>, StateDictError> {
    Err(StateDictError::NoPytorch {
        path: path.to_owned(),
    })
}

pub(super) fn top_names(_path: &Path) -> Vec<String> {
    Vec::new()
}
