//! [`GlossaryError`]: the errors of a glossary, with their remedies.

use transformer_core::lines::LineError;

/// Error of a glossary, with its remedy. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GlossaryError {
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A line does not have two columns.
    #[error(
        "{name}, line {line} has {n_tabs} tabs; write a term, one tab, and its translation, or begin a comment with #"
    )]
    Columns {
        /// The file.
        name: String,
        /// Number of the line.
        line: u64,
        /// Number of tabs in it.
        n_tabs: usize,
    },
    /// A column is blank.
    #[error("{name}, line {line} has no {column}; add it, or remove the line")]
    Blank {
        /// The file.
        name: String,
        /// Number of the line.
        line: u64,
        /// The missing column: `term` or `translation`.
        column: &'static str,
    },
    /// A term has two translations.
    #[error(
        "{name}, line {line}: the term is that of line {first}, too; keep one of the lines, since a term has one \
         translation"
    )]
    Duplicate {
        /// The file.
        name: String,
        /// Number of the line.
        line: u64,
        /// Number of the earlier line.
        first: u64,
    },
    /// The glossary has too many terms or bytes.
    #[error(
        "{name} has more than {most} {unit} at line {line}, the limit of a glossary; keep the terms that the text needs"
    )]
    TooLarge {
        /// The file.
        name: String,
        /// The first line beyond the limit.
        line: u64,
        /// The limit.
        most: usize,
        /// The limited quantity: `terms` or `bytes`.
        unit: &'static str,
    },
}
