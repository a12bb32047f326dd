//! [`PieceTranslator`]: a model of CTranslate2 that translates tokens, for `transformer_burn.ctranslate2`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value};
use transformer_core::import::Marian;
use transformer_core::text::{EOS, Tokenizer, UNK};
use transformer_core::{ComputePrecision, Transformer, device};
use transformer_infer::bindings::change_search;
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{OpenOptions, Source, Translator, score_ids};

use crate::error::{raised, raised_any};
use crate::translator::read;

/// A model of CTranslate2 that translates tokens.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct PieceTranslator {
    translator: Translator,
    folder: PathBuf,
    /// The model with which given translations are scored, once it is read.
    scorer: OnceLock<Transformer>,
    /// Held while that is read.
    reading: Mutex<()>,
}

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
        let precision = int8.map(|int8| match int8 {
            true => ComputePrecision::Int8,
            false => ComputePrecision::F32,
        });
        py.detach(|| {
            let marian = Marian::read_packed_with_pieces(&folder, &pieces, precision);
            let options = OpenOptions {
                n_threads,
                ..OpenOptions::default()
            };
            let translator = Translator::of_packed_marian(marian.map_err(raised)?, &options);
            Ok(Self {
                translator: translator.map_err(raised)?,
                folder,
                scorer: OnceLock::new(),
                reading: Mutex::default(),
            })
        })
    }

    /// True if matrix products are in integers.
    #[getter]
    fn is_int8(&self) -> bool {
        self.translator
            .precisions()
            .contains(&ComputePrecision::Int8)
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
        let tgt = self.translator.tokenizers().tgt();
        let suppressed = ids(tgt, &options.suppressed);
        let search = Search {
            banned: suppressed,
            ..change_search(self.translator.search(), &options.search).map_err(raised_any)?
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
                .translator
                .translate_sources(&sources, &search, &mut |_| ())
                .map_err(raised)?;
            let found = found
                .into_iter()
                .map(|it| it.into_iter().map(|it| self.found(it)).collect());
            Ok(found.collect())
        })
    }

    /// True if given translations can be scored.
    #[getter]
    fn has_scorer(&self) -> bool {
        self.scorer.get().is_some()
    }

    /// Reads the folder again, so that given translations can be scored. `pieces` is as for the class.
    fn read_scorer(&self, py: Python<'_>, pieces: Vec<PathBuf>) -> PyResult<()> {
        py.detach(|| {
            let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            if self.has_scorer() {
                return Ok(());
            }
            let (_, device) = device::choose(None).map_err(raised)?;
            let marian = Marian::read_with_pieces(&self.folder, &pieces, &device);
            let marian = marian.map_err(raised)?;
            if marian.config != *self.translator.config() {
                let folder = self.folder.display();
                let message = format!("the model in {folder} was replaced; open it again");
                return Err(PyRuntimeError::new_err(message));
            }
            self.scorer.get_or_init(|| marian.model);
            Ok(())
        })
    }

    /// Returns the log-probability of each token of given translations, with EOS, by the model of
    /// [`read_scorer`](Self::read_scorer).
    fn score(
        &self,
        py: Python<'_>,
        sources: Vec<Vec<String>>,
        targets: Vec<Vec<String>>,
    ) -> PyResult<Vec<Vec<f64>>> {
        py.detach(|| {
            let sources = self.sources(&sources);
            let targets = ids(self.translator.tokenizers().tgt(), &targets);
            let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
            let scorer = self.scorer.get();
            let scorer =
                scorer.ok_or_else(|| PyRuntimeError::new_err("call read_scorer before"))?;
            let scores = score_ids(scorer, &pairs, self.translator.limits());
            Ok(scores.into_iter().map(|it| it.log_probs).collect())
        })
    }
}

impl PieceTranslator {
    /// Returns the ids of sources. The model's own EOS is added later, so that of a tokenizer is left out.
    fn sources(&self, sources: &[Vec<String>]) -> Vec<Vec<u32>> {
        let mut sources = ids(self.translator.tokenizers().src(), sources);
        if !self.translator.config().src_without_eos {
            for ids in &mut sources {
                ids.pop_if(|id| *id == EOS);
            }
        }
        sources
    }

    fn found(&self, hypothesis: Hypothesis) -> Found {
        let tokenizer = self.translator.tokenizers().tgt();
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
