//! XML: fragments with tags, as programs send them for translation, and documents by the table of their format.

mod file;
mod fill;
mod notation;
mod outline;
mod paragraph;
mod reader;
mod rules;
mod runs;
mod table;
mod token;

pub(super) use file::{MAX_XML_BYTES, XmlFile, declared};
pub use outline::XmlOptions;
pub use reader::xml_parts;
pub(super) use rules::XmlKind;
pub use rules::{RunNames, XmlRules};
pub(super) use table::{column_names, table_parts};
