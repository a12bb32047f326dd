//! [`Translation`], [`Candidate`], [`Attention`]: results.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use transformer_core::text::Tokenizer;
use transformer_infer::attention::{self, Alignment, Kind};
use transformer_infer::{self as engine};

/// The translations of a line, best first.
#[pyclass(frozen, get_all, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Translation {
    /// The hypotheses, best first, or samples in the order of drawing; never empty.
    candidates: Vec<Py<Candidate>>,
    /// The warning that the translation is incomplete, if any.
    warning: Option<String>,
    /// Indices of the glossary's terms in the line that the best translation does not contain.
    unmet_terms: Vec<usize>,
}

/// A translation of a line.
#[pyclass(frozen, get_all, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Candidate {
    /// The text.
    text: String,
    /// The log-probability divided by the length penalty: the order of candidates.
    score: f64,
    /// The sum of the tokens' log-probabilities, in nats.
    log_prob: f64,
    /// The generated tokens, without BOS and EOS.
    tokens: Vec<String>,
    /// Their ids.
    ids: Vec<u32>,
    /// Their log-probabilities, and that of EOS.
    token_log_probs: Vec<f32>,
    /// False if the translation was cut at the length limit.
    finished: bool,
    /// Pairs of source word and output word, counted from 0, if `alignments` was set.
    alignment: Option<Vec<(usize, usize)>>,
    /// The attention of all heads, if `attention` was set.
    attention: Option<Py<Attention>>,
}

/// The attention weights of all layers and heads for a line and its translation.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Attention(attention::Attention);

impl Translation {
    /// Converts a translation. `details` are the alignment and the attention of each candidate, if wanted.
    pub(crate) fn new(
        py: Python<'_>,
        translation: engine::Translation,
        tokenizer: &Tokenizer,
        (alignments, attention): (Vec<Alignment>, Vec<attention::Attention>),
    ) -> PyResult<Self> {
        let (mut alignments, mut attention) = (alignments.into_iter(), attention.into_iter());
        let candidates = translation.candidates.into_iter().map(|candidate| {
            let hypothesis = candidate.hypothesis;
            let tokens = hypothesis.ids.iter().filter_map(|id| tokenizer.token(*id));
            let attention = attention.next().map(|it| Py::new(py, Attention(it)));
            let candidate = Candidate {
                text: candidate.text,
                score: hypothesis.score,
                log_prob: hypothesis.log_prob,
                tokens: tokens.collect(),
                ids: hypothesis.ids,
                token_log_probs: hypothesis.token_log_probs,
                finished: hypothesis.finished,
                alignment: alignments.next().map(|it| it.pairs),
                attention: attention.transpose()?,
            };
            Py::new(py, candidate)
        });
        Ok(Self {
            candidates: candidates.collect::<PyResult<_>>()?,
            warning: translation.warning.map(|it| it.to_string()),
            unmet_terms: translation.unmet_terms,
        })
    }
}

#[pymethods]
impl Translation {
    /// The text of the best translation.
    #[getter]
    fn text(&self) -> &str {
        self.candidates.first().map_or("", |best| &best.get().text)
    }

    /// The score of the best translation.
    #[getter]
    fn score(&self) -> f64 {
        self.candidates.first().map_or(0.0, |best| best.get().score)
    }

    fn __repr__(&self) -> String {
        format!("Translation({:?}, score={})", self.text(), self.score())
    }
}

#[pymethods]
impl Candidate {
    fn __repr__(&self) -> String {
        format!("Candidate({:?}, score={})", self.text, self.score)
    }
}

#[pymethods]
impl Attention {
    /// The tokens of the source, EOS last.
    #[getter]
    fn src_tokens(&self) -> Vec<&str> {
        self.0
            .src_tokens
            .iter()
            .map(|it| it.text.as_str())
            .collect()
    }

    /// The tokens of the translation, EOS last unless it was cut.
    #[getter]
    fn tgt_tokens(&self) -> Vec<&str> {
        self.0
            .tgt_tokens
            .iter()
            .map(|it| it.text.as_str())
            .collect()
    }

    /// Encoder self-attention as an array of NumPy: `[n_layers, n_heads, src_len, src_len]`.
    #[getter]
    fn encoder<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Kind::Encoder)
    }

    /// Decoder self-attention: `[n_layers, n_heads, tgt_len, tgt_len]`; empty if the decoder has a recurrence.
    #[getter]
    fn decoder<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Kind::Decoder)
    }

    /// Cross-attention: `[n_layers, n_heads, tgt_len, src_len]`.
    #[getter]
    fn cross<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Kind::Cross)
    }
}

impl Attention {
    /// Copies maps to an array. NumPy is imported only here, so the package does not depend on it.
    fn array<'py>(&self, py: Python<'py>, kind: Kind) -> PyResult<Bound<'py, PyAny>> {
        let layers = self.0.layers(kind);
        let maps = || layers.iter().flatten();
        let rows = maps().flatten().flatten();
        let bytes: Vec<u8> = rows.flat_map(|weight| weight.to_le_bytes()).collect();
        let first = maps().next().map_or(&[][..], Vec::as_slice);
        let n_heads = layers.first().map_or(0, Vec::len);
        let shape = (
            layers.len(),
            n_heads,
            first.len(),
            first.first().map_or(0, Vec::len),
        );
        let flat = py
            .import("numpy")?
            .call_method1("frombuffer", (PyBytes::new(py, &bytes), "<f4"))?;
        flat.call_method1("reshape", (shape,))
    }
}
