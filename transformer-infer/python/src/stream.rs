//! [`Stream`]: the tokens of translations as they are decoded.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use transformer_core::text::Tokenizer;
use transformer_infer::scheduler::{JobEvent, JobStream, Scheduler};

use crate::error::raised;
use crate::translation::Translation;

/// An iterator over `(line, text, translation)`: the index of a line, its text so far, and its translation once it is
/// done, before `None`. Dropping it cancels the lines that are not done.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Stream {
    /// Dropped first: this cancels the lines, so ending the scheduler does not wait for them.
    pub(crate) events: Mutex<JobStream>,
    pub(crate) tokenizer: Tokenizer,
    /// Keeps the threads running after the translator is freed.
    pub(crate) _scheduler: Arc<SharedScheduler>,
}

/// A scheduler that a translator and its streams share.
#[derive(Debug)]
pub(crate) struct SharedScheduler(pub(crate) Scheduler);

impl Drop for SharedScheduler {
    /// Waits for the threads without the interpreter's lock, unless the interpreter is ending.
    fn drop(&mut self) {
        Python::try_attach(|py| py.detach(|| self.0.shut_down()));
    }
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
            let event =
                events.find(|it| matches!(it, JobEvent::Growing { .. } | JobEvent::Done { .. }));
            (event, events.is_done())
        };
        Ok(match py.detach(next) {
            (Some(JobEvent::Growing { line, text, .. }), _) => Some((line, text, None)),
            (Some(JobEvent::Done { line, result }), _) => {
                let translation = result.map_err(raised)?;
                let text = translation.text().to_owned();
                let details = Default::default();
                let translation = Translation::new(py, translation, &self.tokenizer, details)?;
                Some((line, text, Some(translation)))
            }
            (_, true) => None,
            (_, false) => {
                return Err(PyRuntimeError::new_err(
                    "the stream ended before every line was done; translate the other lines again",
                ));
            }
        })
    }
}
