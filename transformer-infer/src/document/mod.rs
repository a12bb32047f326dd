//! Documents: text of many sentences, with markup and words that are not translated.
//!
//! ```text
//! file ─ format ─▶ parts ─▶ passages ─ Splitter ─▶ sentences ─ LineTranslator ─▶ translations and links
//!                    │ copied text, marks                                              │
//! file ◀─────────────┴──────────────────────── marks put back by links ◀──────────────┘
//! ```
//!
//! - [`mod@format`]: a reader for each format, which makes [`Part`]s.
//! - [`DocumentTranslator`]: from parts to the translated document.
//! - [`TextDraft`]: the sentences of a plain text, to be translated individually.
//! - [`ModelLines`]: a [`Translator`](crate::Translator) as the translator of sentences.
//! - [`Splitter`], [`Protection`]: find the sentences, and the text to copy.

mod boundaries;
mod braces;
mod copied;
mod draft;
mod error;
mod event;
pub mod format;
mod kept;
mod kinds;
mod line_translator;
mod list_mark;
mod marks;
mod model_lines;
mod numbers;
mod passage;
mod protection;
mod segments;
mod spaces;
mod split;
mod translate;

#[cfg(test)]
mod tests;

pub use draft::{DraftSentence, DraftTranslation, TextDraft};
pub use error::DocumentError;
pub use event::{DocumentEvent, DocumentSummary};
pub use line_translator::{DocumentLine, LineTranslator, TranslatedLine};
pub use marks::Form;
pub use model_lines::ModelLines;
pub use passage::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw};
pub use protection::{Protection, ProtectionError};
pub use split::{Split, SplitError, Splitter};
pub use translate::DocumentTranslator;
