//! Message catalogs of gettext: `.po` and `.pot`.

mod entry;
mod header;
mod line;
mod options;
mod reader;
mod string;

pub use options::{Filled, PoOptions};
pub(super) use reader::Po;
