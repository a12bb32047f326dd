//! The translator in Python: what the package `transformer_burn` calls.
//!
//! Options come as Python's keyword arguments, and are read as JSON (`translator`), so that a search has the names that
//! it has in files. Long computations release the interpreter's lock. Errors become `ValueError`, `OSError` with its
//! subclasses, or `RuntimeError` (`error`).

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are converted from Python's, so they are values"
)]

mod document;
mod error;
mod metrics;
mod models;
mod pieces;
mod stream;
mod tokenizer;
mod translation;
mod translator;

use pyo3::pymodule;

/// The part of the package that is written in Rust.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::metrics::{Bleu, Chrf, Score, Ter};
    #[pymodule_export]
    use crate::models::{export_model, import_model};
    #[pymodule_export]
    use crate::pieces::PieceTranslator;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::tokenizer::Tokenizer;
    #[pymodule_export]
    use crate::translation::{Attention, Candidate, Translation};
    #[pymodule_export]
    use crate::translator::Translator;
}
