//! [`refused`]: errors as exceptions.

use transformer_infer::one_line;
use wasm_bindgen::JsError;

/// Returns the exception of an error, with its causes.
pub(crate) fn refused(error: impl std::error::Error) -> JsError {
    JsError::new(&one_line(&error))
}
