//! [`PieceTranslator`]: a model of CTranslate2 that translates tokens, for `transformer_burn.ctranslate2`.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value};
use transformer_core::import::Marian;
use transformer_core::text::{EOS, Tokenizer, UNK};
use transformer_core::{ComputePrecision, device};
use transformer_infer::bindings::change_search;
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{OpenOptions, Source, Translator, score_ids};

use crate::error::{raised, raised_any};
use crate::translator::read;

/// A model of CTranslate2 that translates tokens.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct PieceTranslator(Translator);

/// The settings of a search, and the sequences of tokens that it must not generate.
#[derive(Debug, Deserialize)]
struct PieceOptions {
    #[serde(default)]
    suppressed: Vec<Vec<String>>,
    #[serde(flatten)]
    search: Map<String, Value>,
}

/// A translation as tokens, with its score.
type Found = (Vec<String>, f64);

#[pymethods]
impl PieceTranslator {
    /// Reads the folder of a model, with SentencePiece models of its vocabularies. Without `int8`, matrix products are
    /// in integers if the weights are.
    #[new]
    #[pyo3(signature = (folder, pieces, *, int8=None, n_threads=None))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        pieces: Vec<PathBuf>,
        int8: Option<bool>,
        n_threads: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let (_, device) = device::choose(None).map_err(raised)?;
            let marian = Marian::read_with_pieces(&folder, &pieces, &device).map_err(raised)?;
            // Numbers of 16 bits need two bytes for each parameter.
            let n_bytes = fs::metadata(&marian.weights).map_or(u64::MAX, |it| it.len());
            let is_int8 = n_bytes < 2 * marian.config.parameter_count() as u64;
            let options = OpenOptions {
                precision: Some(match int8.unwrap_or(is_int8) {
                    true => ComputePrecision::Int8,
                    false => ComputePrecision::F32,
                }),
                n_threads,
                ..OpenOptions::default()
            };
            Translator::of_marian(marian, &options)
                .map(Self)
                .map_err(raised)
        })
    }

    /// True if matrix products are in integers.
    #[getter]
    fn is_int8(&self) -> bool {
        self.0.precisions().contains(&ComputePrecision::Int8)
    }

    /// Returns the translations of each source, best first. Each begins with its prefix.
    #[pyo3(signature = (sources, prefixes, **options))]
    fn translate(
        &self,
        py: Python<'_>,
        sources: Vec<Vec<String>>,
        prefixes: Vec<Vec<String>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Found>>> {
        let options: PieceOptions = read(options)?;
        let tgt = self.0.tokenizers().tgt();
        let suppressed = ids(tgt, &options.suppressed);
        let search = Search {
            banned: suppressed,
            ..change_search(self.0.search(), &options.search).map_err(raised_any)?
        };
        search.validate().map_err(raised)?;
        py.detach(|| {
            let sources = self.sources(&sources);
            let prefixes = ids(tgt, &prefixes);
            let sources = (0..).zip(&sources).zip(&prefixes);
            let sources = sources.map(|((index, ids), prefix)| Source {
                ids,
                prefix,
                index,
                ..Source::default()
            });
            let sources: Vec<Source<'_>> = sources.collect();
            let found = self
                .0
                .translate_sources(&sources, &search, &mut |_| ())
                .map_err(raised)?;
            let found = found
                .into_iter()
                .map(|it| it.into_iter().map(|it| self.found(it)).collect());
            Ok(found.collect())
        })
    }

    /// Returns the log-probability of each token of given translations, with EOS.
    fn score(
        &self,
        py: Python<'_>,
        sources: Vec<Vec<String>>,
        targets: Vec<Vec<String>>,
    ) -> PyResult<Vec<Vec<f64>>> {
        py.detach(|| {
            let sources = self.sources(&sources);
            let targets = ids(self.0.tokenizers().tgt(), &targets);
            let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
            let scores = score_ids(self.0.model().map_err(raised)?, &pairs, self.0.limits());
            Ok(scores.into_iter().map(|it| it.log_probs).collect())
        })
    }
}

impl PieceTranslator {
    /// Returns the ids of sources. The model's own EOS is added later, so that of a tokenizer is left out.
    fn sources(&self, sources: &[Vec<String>]) -> Vec<Vec<u32>> {
        let mut sources = ids(self.0.tokenizers().src(), sources);
        if !self.0.config().src_without_eos {
            for ids in &mut sources {
                ids.pop_if(|id| *id == EOS);
            }
        }
        sources
    }

    fn found(&self, hypothesis: Hypothesis) -> Found {
        let tokenizer = self.0.tokenizers().tgt();
        let tokens = hypothesis.ids.iter().filter_map(|id| tokenizer.token(*id));
        (tokens.collect(), hypothesis.score)
    }
}

/// Returns the ids of tokens; that of the unknown token for those that the vocabulary lacks.
fn ids(tokenizer: &Tokenizer, sequences: &[Vec<String>]) -> Vec<Vec<u32>> {
    let ids = |tokens: &Vec<String>| {
        let ids = tokens
            .iter()
            .map(|token| tokenizer.id(token).unwrap_or(UNK));
        ids.collect()
    };
    sequences.iter().map(ids).collect()
}
