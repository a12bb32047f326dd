//! XML: fragments with tags, as programs send them for translation.

mod notation;
mod options;
mod outline;
mod reader;
mod token;

pub use options::XmlOptions;
pub use reader::xml_parts;
