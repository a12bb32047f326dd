//! Documents: text of many sentences, with markup and words that are not translated.

mod cut;
mod error;
pub mod format;
mod line_translator;
mod model_lines;
mod passage;
mod place;
mod protection;
mod sentence;
mod split;
mod translate;
mod units;

#[cfg(test)]
mod tests;

pub use error::DocumentError;
pub use line_translator::{DocumentLine, LineTranslator, TranslatedLine};
pub use model_lines::ModelLines;
pub use passage::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw};
pub use protection::{Protection, ProtectionError};
pub use split::{Split, SplitError, Splitter};
pub use translate::{DocumentEvent, DocumentSummary, DocumentTranslator};
