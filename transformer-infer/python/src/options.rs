//! [`read`]: Python's keyword arguments as options.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use transformer_infer::bindings;

use crate::error::raised_any;

/// Reads keyword arguments; those that are `None` count as missing.
pub(crate) fn read<T: DeserializeOwned>(given: Option<&Bound<'_, PyDict>>) -> PyResult<T> {
    let text = match given {
        Some(given) => {
            let text = given.py().import("json")?.call_method1("dumps", (given,))?;
            text.extract::<String>()?
        }
        None => "{}".to_owned(),
    };
    bindings::read(text.as_bytes()).map_err(raised_any)
}
