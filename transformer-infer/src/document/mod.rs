//! Documents: text of many sentences, with markup and words that are not translated.
//!
//! - [`mod@format`]: a reader for each format, which makes [`Part`]s.
//! - [`DocumentTranslator`]: from parts to the translated document, by [`ModelLines`].
//! - [`Window`]: the same for any other model, which gives sentences and takes their translations.
//! - [`TextDraft`]: the sentences of a plain text, to be translated individually.
//! - [`Splitter`], [`Protection`]: find the sentences, and the text to copy.

mod error;
mod event;
mod model_lines;
mod translate;

pub use error::DocumentError;
pub use event::{DocumentEvent, DocumentSummary};
pub use model_lines::ModelLines;
pub use transformer_documents::{
    DocumentLine, DocumentRules, DraftSentence, DraftTranslation, Form, LineLimits, Mark, MarkKind,
    Notation, Part, Passage, Plain, Protection, ProtectionError, Raw, ReadError, Split, SplitError,
    Splitter, TextDraft, TokenLimits, TranslatedLine, Window, format,
};
pub use translate::DocumentTranslator;
