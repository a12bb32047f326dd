//! The formats of documents: each is a reader of parts.

mod html;
mod kind;
mod text;
mod window;

pub use html::{HtmlOptions, HtmlReader};
pub use kind::{Format, FormatError, FormatOptions, Parts};
pub use text::{Paragraphs, TextReader};
mod build;
mod items;
mod json;
mod lines;
mod markdown;
mod parts;
mod po;
mod segments;
mod spelling;
mod subtitles;
mod table;
mod value;

pub use json::{JsonOptions, JsonReader};
pub use markdown::MarkdownReader;
pub use po::{Filled, PoOptions, PoReader};
pub use subtitles::{SubtitleKind, SubtitleOptions, SubtitleReader};
pub use table::{Column, FirstRow, TableKind, TableOptions, TableReader};
