//! [`Stream`]: the tokens of translations as they are decoded.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use transformer_core::text::Tokenizer;
use transformer_infer::scheduler::{JobEvent, JobStream};

use crate::error::raised;
use crate::translation::Translation;

/// An iterator over `(line, text, translation)`: the index of a line, its text so far, and its translation once it is
/// done, before `None`. Dropping it cancels the lines that are not done.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) events: Mutex<JobStream>,
    pub(crate) tokenizer: Tokenizer,
}

#[pymethods]
impl Stream {
    fn __iter__(stream: PyRef<'_, Self>) -> PyRef<'_, Self> {
        stream
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(usize, String, Option<Translation>)>> {
        py.check_signals()?;
        let next = || {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            events.find(|it| matches!(it, JobEvent::Growing { .. } | JobEvent::Done { .. }))
        };
        Ok(match py.detach(next) {
            Some(JobEvent::Growing { line, text, .. }) => Some((line, text, None)),
            Some(JobEvent::Done { line, result }) => {
                let translation = result.map_err(raised)?;
                let text = translation.text().to_owned();
                let details = Default::default();
                let translation = Translation::new(py, translation, &self.tokenizer, details)?;
                Some((line, text, Some(translation)))
            }
            _ => None,
        })
    }
}
