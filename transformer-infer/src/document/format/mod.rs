//! The formats of documents: each is a reader of parts.

mod kind;
mod text;
mod window;

pub use kind::{Format, FormatError, FormatOptions, Parts};
pub use text::{Paragraphs, TextReader};
