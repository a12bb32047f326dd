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
mod segments;
mod source;
mod spelling;
mod subtitles;
mod table;
mod text;
mod value;
mod xml;

pub use html::HtmlOptions;
#[doc(hidden)]
pub use html::html_parts;
pub use json::JsonOptions;
pub use kind::{Format, FormatError, FormatOptions};
#[doc(hidden)]
pub use package::PackageKind;
#[doc(hidden)]
pub use pairs::PairKind;
#[doc(hidden)]
pub use parts::PartReader;
pub use parts::ReadError;
#[doc(hidden)]
pub use po::Filled;
pub use po::PoOptions;
#[doc(hidden)]
pub use subtitles::SubtitleKind;
pub use subtitles::SubtitleOptions;
pub use table::TableOptions;
#[doc(hidden)]
pub use table::{Column, FirstRow};
#[doc(hidden)]
pub use text::Paragraphs;
pub use xml::XmlOptions;
#[doc(hidden)]
pub use xml::xml_parts;
pub use xml::{RunNames, XmlRules};
