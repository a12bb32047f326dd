//! [`DocumentEvent`] and [`DocumentSummary`]: the messages about a translation; [`DocumentError`]: the reason why a document
//! cannot be translated, and the remedy.

use std::io;

use transformer_core::text::printable;
use transformer_documents::Doubtful;
use transformer_translate::{TranslatorError, Warning};

use super::ReadError;

/// Number of characters of a sentence that an event shows.
const MAX_SHOWN_CHARS: usize = 60;

/// Something to tell the user during the translation of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentEvent {
    /// Sentences were translated.
    Progress {
        /// Number of sentences since the last event of this kind.
        n_sentences: usize,
    },
    /// A sentence is longer than the model's limit, and was translated in parts.
    Split {
        /// The start of the sentence.
        start: String,
        /// Number of parts.
        n_parts: usize,
    },
    /// The output length limit affected the translation of a sentence.
    Limited {
        /// The start of the sentence.
        start: String,
        /// The warning.
        warning: Warning,
    },
    /// The translation of a sentence lacks a term of the glossary.
    UnmetTerm {
        /// The start of the sentence.
        start: String,
        /// The term.
        term: String,
    },
}

/// Totals of a translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentSummary {
    /// Number of sentences and parts of sentences.
    pub n_sentences: u64,
    /// Number of glossary terms in the sentences.
    pub n_terms: usize,
    /// Number of those terms that are missing from the translations.
    pub n_unmet_terms: usize,
    /// The sentences with doubtful translations, numbered from 1, if translations are
    /// [checked](super::Protection::with_check).
    pub doubtful: Doubtful,
}

impl std::fmt::Display for DocumentEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Progress { n_sentences } => write!(f, "{n_sentences} sentences were translated"),
            Self::Split { start, n_parts } => write!(
                f,
                "the sentence that begins `{}` is too long and was translated in {n_parts} parts",
                printable(start)
            ),
            Self::Limited { start, warning } => {
                write!(
                    f,
                    "the sentence that begins `{}`: {warning}",
                    printable(start)
                )
            }
            Self::UnmetTerm { start, term } => write!(
                f,
                "the translation of the sentence that begins `{}` lacks the term `{}`",
                printable(start),
                printable(term)
            ),
        }
    }
}

pub(super) fn start_of(sentence: &str) -> String {
    sentence.chars().take(MAX_SHOWN_CHARS).collect()
}

/// The reason why a document cannot be read or translated, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error("cannot write the translation; check the disk and the rights")]
    Write(#[source] io::Error),
    /// The translation or its word alignment failed.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
}
