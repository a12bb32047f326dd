//! Documents: text of many sentences, with markup and words that are not translated.
//!
//! - [`mod@format`]: the formats.
//! - [`DocumentTranslator`]: translates a document, by [`ModelLines`].
//! - [`Window`]: the same for any other model, which gives sentences and takes their translations.
//! - [`Splitter`], [`Protection`]: find the sentences, and the text to copy.

mod event;
mod model_lines;
mod translate;

pub use event::{DocumentError, DocumentEvent, DocumentSummary};
pub use model_lines::ModelLines;
#[doc(hidden)]
pub use model_lines::translate_lines;
#[doc(no_inline)]
pub use transformer_documents::format;
#[doc(hidden)]
pub use transformer_documents::{
    Attempt, DocumentLine, DraftSentence, Fault, ProtectionError, TokenLimits, Trial, Way,
};
pub use transformer_documents::{
    DocumentRules, Doubtful, Faults, LineLimits, Protection, ReadError, Split, Splitter,
    TranslatedLine, Window,
};
pub use translate::DocumentTranslator;
