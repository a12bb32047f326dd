//! Documents: text of many sentences, with markup and words that are not translated.

mod error;
pub mod format;
mod passage;

pub use error::DocumentError;
pub use passage::{Mark, MarkKind, Notation, Part, Passage, Plain, Raw};
