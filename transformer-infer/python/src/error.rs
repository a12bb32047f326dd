//! [`raised`], [`raised_any`]: errors as exceptions.

use std::error::Error;
use std::{io, iter};

use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use transformer_infer::bindings::AnyError;
use transformer_infer::{TranslatorError, one_line};

/// Returns the exception of an error, with its causes: that of the operating system's error, if there is one among
/// them, `RuntimeError` if the model computes NaN, and otherwise `ValueError`.
pub(crate) fn raised(error: impl Error + 'static) -> PyErr {
    exception(&error)
}

/// Returns the exception of an error of any kind, as [`raised`] does.
pub(crate) fn raised_any(error: AnyError) -> PyErr {
    exception(&*error)
}

fn exception(first: &(dyn Error + 'static)) -> PyErr {
    let message = one_line(first);
    let mut causes = iter::successors(Some(first), |error| (*error).source());
    if let Some(kind) = causes
        .clone()
        .find_map(|it| Some(it.downcast_ref::<io::Error>()?.kind()))
    {
        return io::Error::new(kind, message).into();
    }
    let is_of_model = causes.any(|it| {
        let error = it.downcast_ref::<TranslatorError>();
        error.is_some_and(|it| {
            matches!(
                it,
                TranslatorError::NotANumber { .. } | TranslatorError::Panic { .. }
            )
        })
    });
    match is_of_model {
        true => PyRuntimeError::new_err(message),
        false => PyValueError::new_err(message),
    }
}
