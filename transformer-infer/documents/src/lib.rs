//! Documents: text of many sentences, with markup and words that are not translated.
//!
//! Programs use it through `transformer-infer`, which exports all of it as `document`, and adds `DocumentTranslator`.
//!
//! ```text
//! file ─ format ─▶ parts ─▶ passages ─ Splitter ─▶ sentences ─ a model ─▶ translations and links
//!                    │ copied text, marks                                        │
//! file ◀─────────────┴──────────────────────── marks put back by links ◀────────┘
//! ```
//!
//! - [`mod@format`]: a reader for each format, which makes [`Part`]s.
//! - [`Window`]: gives the sentences of parts, and takes their translations.
//! - [`TextDraft`]: the sentences of a plain text, to be translated individually.
//! - [`Splitter`], [`Protection`]: find the sentences, and the text to copy.

#[cfg(test)]
extern crate self as transformer_documents;

mod boundaries;
mod copied;
mod draft;
pub mod format;
mod line;
mod marks;
mod passage;
mod rules;
mod spaces;
mod split;
mod trial;
mod variants;
mod window;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use draft::{DraftSentence, DraftTranslation, TextDraft};
pub use format::ReadError;
pub use line::{DocumentLine, TranslatedLine};
#[doc(hidden)]
pub use marks::Form;
#[doc(hidden)]
pub use passage::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw};
pub use rules::DocumentRules;
pub use rules::{LineLimits, TokenLimits};
#[doc(hidden)]
pub use split::SplitError;
pub use split::{Split, Splitter};
#[doc(hidden)]
pub use transformer_protection::ProtectionError;
pub use transformer_protection::{Doubtful, Fault, Faults, Protection};
pub use trial::{Attempt, Way};
#[doc(hidden)]
pub use trial::{Trial, Tried};
pub use window::Window;
