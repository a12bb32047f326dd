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
pub use html::HtmlOptions;
#[doc(hidden)]
pub use html::HtmlReader;
pub use json::JsonOptions;
#[doc(hidden)]
pub use json::JsonReader;
#[doc(hidden)]
pub use kind::PartReader;
pub use kind::{Format, FormatError, FormatOptions};
#[doc(hidden)]
pub use markdown::MarkdownReader;
pub use po::PoOptions;
#[doc(hidden)]
pub use po::{Filled, PoReader};
pub use subtitles::SubtitleOptions;
#[doc(hidden)]
pub use subtitles::{SubtitleKind, SubtitleReader};
pub use table::TableOptions;
#[doc(hidden)]
pub use table::{Column, FirstRow, TableKind, TableReader};
#[doc(hidden)]
pub use text::{Paragraphs, TextReader};
pub use xml::XmlOptions;
#[doc(hidden)]
pub use xml::xml_parts;
