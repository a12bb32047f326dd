//! [`Translator`]: a model that translates lines and documents.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use transformer_core::device;
use transformer_infer::attention::{Alignment, Attention, LayerHead};
use transformer_infer::scheduler::{Job, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::search::Search;
use transformer_infer::{Glossary, Input, OpenOptions, Translator as Engine, one_line};

use crate::document::translate_document;
use crate::error::raised;
use crate::options::{self, DocumentOptions, LineOptions};
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

/// The options for opening a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelOptions {
    device: Option<String>,
    precision: Option<String>,
    threads: Option<NonZeroUsize>,
    shortlist: Option<bool>,
    source_lang: Option<String>,
    target_lang: Option<String>,
}

/// Translations, and the alignments and the attention of their candidates.
type Translated = (
    Vec<transformer_infer::Translation>,
    Vec<Vec<Alignment>>,
    Vec<Vec<Attention>>,
);

/// Lines to translate, with all options.
struct Request<'a> {
    options: &'a LineOptions,
    search: &'a Search,
    glossary: Option<&'a Glossary>,
    direction: Option<transformer_core::text::Direction>,
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
        let options: ModelOptions = options::read(options)?;
        if paths.is_empty() {
            return Err(PyValueError::new_err(
                "there is no model; give its directory",
            ));
        }
        let precision = options.precision.as_deref().map(str::parse);
        let open = OpenOptions {
            precision: precision.transpose().map_err(PyValueError::new_err)?,
            without_shortlist: options.shortlist == Some(false),
            n_threads: options.threads,
            ..OpenOptions::default()
        };
        let engine = py.detach(|| {
            let (_, device) = device::choose(options.device.as_deref()).map_err(raised)?;
            let is_missing = paths.iter().any(|path| !path.exists());
            Engine::open_ensemble(&paths, &device, &open).map_err(|error| match is_missing {
                true => PyFileNotFoundError::new_err(one_line(&error)),
                false => raised(error),
            })
        })?;
        let (src, tgt) = (
            options.source_lang.as_deref(),
            options.target_lang.as_deref(),
        );
        let engine = match (src, tgt) {
            (None, None) => engine,
            (src, tgt) => engine.with_direction(src, tgt).map_err(raised)?,
        };
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
        let options: LineOptions = options::read(options)?;
        let search = options.common.search(&self.engine)?;
        let glossary = options.common.glossary()?;
        let request = Request {
            search: &search,
            glossary: glossary.as_ref(),
            direction: self.direction(&options)?,
            options: &options,
        };
        check_prefixes(&options, &lines)?;
        let tokenizer = self.engine.tokenizers().tgt();
        let mut found = Vec::with_capacity(lines.len());
        for start in (0..lines.len()).step_by(LINES_AT_ONCE) {
            py.check_signals()?;
            let end = lines.len().min(start + LINES_AT_ONCE);
            let translated = py.detach(|| self.translate_some(&request, &lines, start..end))?;
            let (translations, alignments, attention) = translated;
            let (mut alignments, mut attention) = (alignments.into_iter(), attention.into_iter());
            for translation in translations {
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
        let options: LineOptions = options::read(options)?;
        let (search, glossary) = (
            options.common.search(&self.engine)?,
            options.common.glossary()?,
        );
        let direction = self.direction(&options)?;
        check_prefixes(&options, &lines)?;
        if options.alignments || options.attention {
            return Err(PyValueError::new_err(
                "a stream has no alignments and no attention; use `translate`",
            ));
        }
        let mut prefixes = options.prefixes.into_iter();
        let line = |(index, text): (u64, String)| JobLine {
            terms: terms_in(glossary.as_ref(), &text)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            prefix: prefixes.next().unwrap_or_default(),
            text,
            index,
            direction,
        };
        let lines = (options.first_index..).zip(lines).map(line).collect();
        let job = Job {
            caller: 0,
            lines,
            search,
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
        let options: DocumentOptions = options::read(options)?;
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

impl Translator {
    fn direction(
        &self,
        options: &LineOptions,
    ) -> PyResult<Option<transformer_core::text::Direction>> {
        let (src, tgt) = (
            options.source_lang.as_deref(),
            options.target_lang.as_deref(),
        );
        let is_given = src.or(tgt).is_some();
        let direction = is_given.then(|| self.engine.direction(src, tgt));
        direction.transpose().map_err(raised)
    }

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

    /// Translates some of the lines.
    fn translate_some(
        &self,
        request: &Request<'_>,
        lines: &[String],
        range: std::ops::Range<usize>,
    ) -> PyResult<Translated> {
        let (start, options) = (range.start, request.options);
        let lines = &lines[range];
        let terms: Vec<_> = lines
            .iter()
            .map(|line| terms_in(request.glossary, line))
            .collect();
        let inputs = (start..).zip(lines).zip(&terms);
        let inputs = inputs.map(|((index, text), terms)| Input {
            text,
            prefix: options.prefixes.get(index).map_or("", String::as_str),
            terms,
            index: options.first_index + index as u64,
            direction: request.direction,
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        let translated = self
            .engine
            .translate_inputs(&inputs, request.search, &mut |_| ());
        let translations = translated.map_err(|it| raised(it.with_line(|line| start + line)))?;
        let alignments = match options.alignments {
            true => self
                .engine
                .alignments(lines, &translations, LayerHead::default()),
            false => Ok(Vec::new()),
        };
        let attention = match options.attention {
            true => lines
                .iter()
                .zip(&translations)
                .map(|(line, it)| self.attention(line, it))
                .collect(),
            false => Ok(Vec::new()),
        };
        Ok((translations, alignments.map_err(raised)?, attention?))
    }

    /// Returns the attention of each candidate; nothing for a blank line.
    fn attention(
        &self,
        line: &str,
        translation: &transformer_infer::Translation,
    ) -> PyResult<Vec<Attention>> {
        let candidates = translation
            .candidates
            .iter()
            .filter(|_| !line.trim().is_empty());
        let attention = candidates.map(|candidate| {
            self.engine
                .attention_in(translation.direction, line, &candidate.hypothesis)
        });
        attention.collect::<Result<_, _>>().map_err(raised)
    }
}

/// Returns the translations of the glossary's terms in a line.
fn terms_in<'a>(glossary: Option<&'a Glossary>, line: &str) -> Vec<&'a str> {
    let terms = glossary
        .into_iter()
        .flat_map(|glossary| glossary.terms_in(line));
    terms.map(|term| term.target).collect()
}

fn check_prefixes(options: &LineOptions, lines: &[String]) -> PyResult<()> {
    let (n, expected) = (options.prefixes.len(), lines.len());
    match n == 0 || n == expected {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!(
            "there are {n} prefixes and {expected} lines; give a prefix for each line, `\"\"` for none"
        ))),
    }
}
