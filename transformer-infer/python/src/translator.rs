//! [`Translator`]: a model that translates lines and documents.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use serde_json::json;
use transformer_infer::bindings::{
    self, AnyError, DocumentOptions, LineOptions, LineRequest, ModelOptions,
};
use transformer_infer::scheduler::{Job, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::{Translator as Engine, TranslatorError, one_line};

use crate::document::translate_document;
use crate::error::{raised, raised_any};
use crate::stream::{SharedScheduler, Stream};
use crate::tokenizer::Tokenizer;
use crate::translation::Translation;

/// Number of lines that are translated before an interrupt is noticed, as many as the program takes at once.
const LINES_AT_ONCE: usize = 1000;

/// A model that translates.
#[pyclass(frozen, subclass, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Translator {
    engine: Arc<Engine>,
    /// Started by the first stream.
    scheduler: OnceLock<Arc<SharedScheduler>>,
}

#[pymethods]
impl Translator {
    /// Opens a model directory, or several as an ensemble.
    #[new]
    #[pyo3(signature = (*paths, **options))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options: ModelOptions = read(options)?;
        if paths.is_empty() {
            return Err(PyValueError::new_err(
                "there is no model; give its directory",
            ));
        }
        let engine = py.detach(|| {
            let is_missing = paths.iter().any(|path| !path.exists());
            let is_of_model = |error: &AnyError| error.is::<TranslatorError>();
            options
                .open(&paths)
                .map_err(|error| match is_missing && is_of_model(&error) {
                    true => PyFileNotFoundError::new_err(one_line(&*error)),
                    false => raised_any(error),
                })
        })?;
        Ok(Self {
            engine: Arc::new(engine),
            scheduler: OnceLock::new(),
        })
    }

    /// Translates lines, and returns a translation for each.
    #[pyo3(signature = (lines, **options))]
    fn translate(
        &self,
        py: Python<'_>,
        lines: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Translation>> {
        let options: LineOptions = read(options)?;
        let request = LineRequest::new(&self.engine, options, lines.len()).map_err(raised_any)?;
        let tokenizer = self.engine.tokenizers().tgt();
        let mut found = Vec::with_capacity(lines.len());
        for start in (0..lines.len()).step_by(LINES_AT_ONCE) {
            py.check_signals()?;
            let end = lines.len().min(start + LINES_AT_ONCE);
            let translated = py
                .detach(|| request.translate(&self.engine, &lines, start..end))
                .map_err(raised_any)?;
            let mut alignments = translated.alignments.into_iter();
            let mut attention = translated.attention.into_iter();
            for translation in translated.translations {
                let details = (
                    alignments.next().unwrap_or_default(),
                    attention.next().unwrap_or_default(),
                );
                found.push(Translation::new(py, translation, tokenizer, details)?);
            }
        }
        Ok(found)
    }

    /// Begins to translate lines, and returns an iterator over the tokens of greedy searches and finished lines.
    #[pyo3(signature = (lines, **options))]
    fn stream(
        &self,
        py: Python<'_>,
        lines: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let options: LineOptions = read(options)?;
        if options.alignments || options.attention {
            return Err(PyValueError::new_err(
                "a stream has no alignments and no attention; use `translate`",
            ));
        }
        let request = LineRequest::new(&self.engine, options, lines.len()).map_err(raised_any)?;
        let mut prefixes = request.options.prefixes.iter().cloned();
        let line = |(index, text): (u64, String)| JobLine {
            terms: request
                .terms_in(&text)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            prefix: prefixes.next().unwrap_or_default(),
            text,
            index,
            direction: request.direction,
            ..JobLine::default()
        };
        let lines = (request.options.first_index..).zip(lines);
        let lines = lines.map(line).collect();
        let job = Job {
            caller: 0,
            lines,
            search: request.search,
        };
        py.detach(|| {
            let scheduler = Arc::clone(self.scheduler()?);
            Ok(Stream {
                events: Mutex::new(scheduler.0.stream(job).map_err(raised)?),
                tokenizer: self.engine.tokenizers().tgt().clone(),
                _scheduler: scheduler,
            })
        })
    }

    /// Translates a document, and keeps its markup. The output is written when all is translated.
    #[pyo3(signature = (input, output, **options))]
    fn translate_file(
        &self,
        py: Python<'_>,
        input: PathBuf,
        output: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options: DocumentOptions = read(options)?;
        if !options.overwrite && fs::metadata(&output).is_ok_and(|it| it.len() > 0) {
            return Err(PyFileExistsError::new_err(format!(
                "`{}` exists; choose another file, or set overwrite=True",
                output.display()
            )));
        }
        py.detach(|| translate_document(&self.engine, &input, &output, &options))
    }

    /// Returns the log-probability of each given translation, in nats, with those of its tokens and of EOS.
    fn score(
        &self,
        py: Python<'_>,
        sources: Vec<String>,
        targets: Vec<String>,
    ) -> PyResult<Vec<(f64, Vec<f64>)>> {
        let (n, expected) = (targets.len(), sources.len());
        if n != expected {
            return Err(PyValueError::new_err(format!(
                "there are {n} targets and {expected} sources; give a target for each source"
            )));
        }
        let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
        let scores = py.detach(|| self.engine.score(&pairs)).map_err(raised)?;
        Ok(scores
            .into_iter()
            .map(|it| (it.log_prob(), it.log_probs))
            .collect())
    }

    /// The languages of the model, as codes of BCP 47, if known.
    #[getter]
    fn languages(&self) -> (Option<String>, Option<String>) {
        let languages = self.engine.languages();
        let [src, tgt] = [&languages.src, &languages.tgt].map(|it| Some(it.as_ref()?.to_string()));
        (src, tgt)
    }

    /// The number format of the matrix products of each model: `f32` or `int8`.
    #[getter]
    fn precisions(&self) -> Vec<String> {
        self.engine
            .precisions()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// The settings of the model's own search, as keyword arguments of `translate`.
    #[getter]
    fn search<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = json!(self.engine.search()).to_string();
        py.import("json")?.call_method1("loads", (text,))
    }

    /// The tokenizer of the source.
    #[getter]
    fn src_tokenizer(&self) -> Tokenizer {
        Tokenizer(self.engine.tokenizers().src().clone())
    }

    /// The tokenizer of the target.
    #[getter]
    fn tgt_tokenizer(&self) -> Tokenizer {
        Tokenizer(self.engine.tokenizers().tgt().clone())
    }
}

/// Reads keyword arguments as options; those that are `None` count as missing.
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

impl Translator {
    fn scheduler(&self) -> PyResult<&Arc<SharedScheduler>> {
        if let Some(scheduler) = self.scheduler.get() {
            return Ok(scheduler);
        }
        let engine = Arc::clone(&self.engine);
        let scheduler = Scheduler::new(engine, &SchedulerOptions::default()).map_err(raised)?;
        let scheduler = Arc::new(SharedScheduler(scheduler));
        // If another thread was first, its scheduler is used, and this one ends.
        Ok(self.scheduler.get_or_init(|| scheduler))
    }
}
