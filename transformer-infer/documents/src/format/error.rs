//! [`ReadError`]: the reason why a document cannot be read, and the remedy.

use transformer_text::lines::LineError;

use super::FormatError;

/// The reason why a document cannot be read, and the remedy.
///
/// A document is named by its file in backticks, or `standard input`. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input, or one of its lines, cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// This build lacks the format.
    #[error(transparent)]
    Format(#[from] FormatError),
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
    /// The input has translations beside their sources, and is to be translated twice.
    #[error(
        "{name} has translations beside their sources, and cannot be translated through a third language; choose a \
         model for its languages"
    )]
    Bilingual {
        /// The document.
        name: String,
    },
}
