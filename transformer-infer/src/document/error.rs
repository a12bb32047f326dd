//! [`DocumentError`]: the reason why a document cannot be read or translated, and the remedy.

use std::io;

use transformer_core::lines::LineError;

use crate::attention::AttentionError;
use transformer_translate::TranslatorError;

/// The reason why a document cannot be read or translated, and the remedy.
///
/// A document is named by its file in backticks, or `standard input`. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The input, or one of its lines, cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The input does not follow its format.
    #[error("{name}, line {line}: {problem}; {remedy}")]
    Syntax {
        /// The document.
        name: String,
        /// Number of the line.
        line: u64,
        /// The problem: what was found and what was expected.
        problem: String,
        /// The remedy.
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
