//! Message catalogs of gettext: `.po` and `.pot`.

mod entry;
mod line;
mod reader;

pub(super) use reader::Po;
pub use reader::{Filled, PoOptions};
