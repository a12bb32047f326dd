//! Documents: text of many sentences, with markup and words that are not translated.
//!
//! ```text
//! file ─ format ─▶ parts ─▶ passages ─ Splitter ─▶ sentences ─ a model ─▶ translations and links
//!                    │ copied text, marks                                        │
//! file ◀─────────────┴──────────────────────── marks put back by links ◀────────┘
//! ```
//!
//! - [`mod@format`]: a reader for each format, which makes [`Part`]s.
//! - [`DocumentTranslator`]: from parts to the translated document, by [`ModelLines`].
//! - [`Window`]: the same for any other model, which gives sentences and takes their translations.
//! - [`TextDraft`]: the sentences of a plain text, to be translated individually.
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
mod limits;
mod line;
mod list_mark;
mod marks;
mod model_lines;
mod numbers;
mod passage;
mod protection;
mod rules;
mod segments;
mod spaces;
mod split;
mod translate;
mod window;

#[cfg(test)]
mod tests;

pub use draft::{DraftSentence, DraftTranslation, TextDraft};
pub use error::DocumentError;
pub use event::{DocumentEvent, DocumentSummary};
pub use format::ReadError;
pub use limits::{LineLimits, TokenLimits};
pub use line::{DocumentLine, TranslatedLine};
pub use marks::Form;
pub use model_lines::ModelLines;
#[cfg(feature = "serve")]
pub(crate) use model_lines::translated_lines;
pub use passage::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw};
pub use protection::{Protection, ProtectionError};
pub use rules::DocumentRules;
pub use split::{Split, SplitError, Splitter};
pub use translate::DocumentTranslator;
pub use window::Window;
