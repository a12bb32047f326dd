//! The formats of documents. Each format is a reader of parts.

mod build;
mod encoding;
mod escapes;
mod html;
mod items;
mod json;
mod kind;
mod markdown;
mod message;
mod package;
mod pairs;
mod parts;
mod po;
mod quoted;
mod segments;
mod source;
mod spelling;
mod subtitles;
mod table;
mod text;
mod value;
mod xml;

pub use html::HtmlOptions;
pub use json::JsonOptions;
pub use kind::{Format, FormatError, FormatOptions};
pub use parts::ReadError;
pub use po::PoOptions;
pub use subtitles::SubtitleOptions;
pub use table::TableOptions;
pub use xml::{RunNames, XmlOptions, XmlRules};
#[doc(hidden)]
pub use {
    html::html_parts, package::PackageKind, pairs::PairKind, parts::PartReader, po::Filled,
    subtitles::SubtitleKind, table::Column, table::FirstRow, text::Paragraphs, xml::xml_parts,
};
