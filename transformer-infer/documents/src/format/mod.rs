//! The formats of documents. Each format is a reader of parts.

mod build;
mod error;
mod escapes;
mod html;
mod items;
mod json;
mod kind;
mod lines;
mod markdown;
mod parts;
mod po;
mod segments;
mod spelling;
mod subtitles;
mod table;
mod text;
mod value;
mod window;
mod xml;

pub use error::ReadError;
pub use html::{HtmlOptions, HtmlReader};
pub use json::{JsonOptions, JsonReader};
pub use kind::{Format, FormatError, FormatOptions, PartReader};
pub use markdown::MarkdownReader;
pub use po::{Filled, PoOptions, PoReader};
pub use subtitles::{SubtitleKind, SubtitleOptions, SubtitleReader};
pub use table::{Column, FirstRow, TableKind, TableOptions, TableReader};
pub use text::{Paragraphs, TextReader};
pub use xml::{XmlOptions, xml_parts};
