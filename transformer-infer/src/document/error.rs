//! [`DocumentError`]: why a document cannot be read or translated, and how to fix it.

use std::io;

use transformer_core::lines::LineError;

use crate::attention::AttentionError;
use transformer_translate::TranslatorError;

/// Why a document cannot be read or translated, and how to fix it.
///
/// The name of the document is that of the file in backticks, or `standard input`. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The input, or a line of it, cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The input is not of its format.
    #[error("{name}, line {line}: {problem}; {remedy}")]
    Syntax {
        /// The document.
        name: String,
        /// Number of the line.
        line: u64,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The output cannot be written.
    #[error("cannot write the translation; check the disk and the rights")]
    Write(#[source] io::Error),
    /// The translation failed.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
    /// The word alignments failed.
    #[error(transparent)]
    Alignment(#[from] AttentionError),
}
