//! [`Tokenizer`]: the tokenizer of one side of a model.

use std::path::PathBuf;

use pyo3::prelude::*;
use transformer_core::text;

use crate::error::raised;

/// A tokenizer of a model: from text to ids and back.
#[pyclass(frozen, module = "transformer_burn")]
#[derive(Debug)]
pub(crate) struct Tokenizer(pub(crate) text::Tokenizer);

#[pymethods]
impl Tokenizer {
    /// Reads a `tokenizer.json` that this program wrote.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        text::Tokenizer::read(path).map(Self).map_err(raised)
    }

    /// Returns the ids of a line, without BOS and EOS.
    fn encode(&self, py: Python<'_>, line: &str) -> Vec<u32> {
        py.detach(|| self.0.encode(line))
    }

    /// Returns the text of ids; special tokens have none.
    fn decode(&self, py: Python<'_>, ids: Vec<u32>) -> String {
        py.detach(|| self.0.decode(&ids))
    }

    /// Returns the tokens of a line.
    fn tokenize(&self, line: &str) -> Vec<String> {
        let ids = self.0.encode(line);
        ids.iter().filter_map(|id| self.0.token(*id)).collect()
    }

    /// Returns the token with this id, if there is one.
    fn token(&self, id: u32) -> Option<String> {
        self.0.token(id)
    }

    /// Returns the id of a token, if the vocabulary has it.
    fn id(&self, token: &str) -> Option<u32> {
        self.0.id(token)
    }

    /// Returns the size of the vocabulary.
    fn __len__(&self) -> usize {
        self.0.vocab_size()
    }
}
