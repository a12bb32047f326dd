//! [`Bleu`], [`Chrf`], [`Ter`]: scores of translations, equal to sacreBLEU's.

use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use transformer_core::json;
use transformer_infer::metrics::{self, Case, CorpusCounts, Metric};

use crate::error::raised;

/// A score.
#[pyclass(frozen, get_all, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Score {
    /// The name of the metric.
    name: String,
    /// The score.
    score: f64,
    /// sacreBLEU's signature: all settings needed to reproduce the score.
    signature: String,
    /// The line that sacreBLEU prints.
    description: String,
}

#[pymethods]
impl Score {
    fn __repr__(&self) -> String {
        format!("{} = {}", self.name, self.description)
    }
}

/// Scores a text. `references` has a list for each set of references, as in sacreBLEU.
fn score(
    py: Python<'_>,
    metric: &(dyn Metric + Sync),
    hypotheses: &[String],
    references: &[Vec<String>],
) -> PyResult<Score> {
    if let Some(set) = references.iter().find(|set| set.len() != hypotheses.len()) {
        let (n, expected) = (set.len(), hypotheses.len());
        return Err(PyValueError::new_err(format!(
            "a set of references has {n} lines, and there are {expected} hypotheses; give a reference for each"
        )));
    }
    if references.is_empty() {
        return Err(PyValueError::new_err(
            "there are no references; give a list of sets of references",
        ));
    }
    py.detach(|| {
        let of_line = |line: usize| references.iter().map(|set| set[line].as_str()).collect();
        let pairs = hypotheses
            .iter()
            .enumerate()
            .map(|(line, it)| (it.as_str(), of_line(line)));
        let sums = CorpusCounts::new(metric, pairs).sums();
        Ok(Score {
            name: metric.name(),
            score: metric.score_of(&sums),
            signature: metric.signature(references.len()),
            description: metric.describe(&sums, 1),
        })
    })
}

fn case(lowercase: bool) -> Case {
    if lowercase { Case::Lower } else { Case::Mixed }
}

/// A metric of translations.
#[pyclass(frozen, subclass, module = "transformer_burn", name = "_Metric")]
#[derive(Debug)]
pub(crate) struct TextMetric(Box<dyn Metric + Send + Sync>);

impl TextMetric {
    /// Returns the object of a subclass.
    fn with<S: PyClass<BaseType = Self>>(
        metric: impl Metric + Send + Sync + 'static,
        subclass: S,
    ) -> PyClassInitializer<S> {
        PyClassInitializer::from(Self(Box::new(metric))).add_subclass(subclass)
    }
}

#[pymethods]
impl TextMetric {
    /// Returns the score of a text: its lines, and sets of references.
    fn corpus_score(
        &self,
        py: Python<'_>,
        hypotheses: Vec<String>,
        references: Vec<Vec<String>>,
    ) -> PyResult<Score> {
        score(py, &*self.0, &hypotheses, &references)
    }
}

/// BLEU (Papineni et al. 2002).
#[pyclass(frozen, extends = TextMetric, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Bleu;

#[pymethods]
impl Bleu {
    #[new]
    #[pyo3(signature = (*, lowercase=false, tokenize="13a"))]
    fn new(lowercase: bool, tokenize: &str) -> PyResult<PyClassInitializer<Self>> {
        let metric = metrics::Bleu {
            tokenization: json::from_value(&json!(tokenize)).map_err(raised)?,
            case: case(lowercase),
            ..metrics::Bleu::default()
        };
        Ok(TextMetric::with(metric, Self))
    }
}

/// chrF (Popović 2015); chrF++ with `word_order=2`.
#[pyclass(frozen, extends = TextMetric, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Chrf;

#[pymethods]
impl Chrf {
    #[new]
    #[pyo3(signature = (*, char_order=6, word_order=0, lowercase=false))]
    fn new(char_order: usize, word_order: usize, lowercase: bool) -> PyClassInitializer<Self> {
        let metric = metrics::Chrf {
            char_order,
            word_order,
            case: case(lowercase),
            ..metrics::Chrf::default()
        };
        TextMetric::with(metric, Self)
    }
}

/// TER (Snover et al. 2006).
#[pyclass(frozen, extends = TextMetric, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Ter;

#[pymethods]
impl Ter {
    #[new]
    fn new() -> PyClassInitializer<Self> {
        TextMetric::with(metrics::Ter::default(), Self)
    }
}
