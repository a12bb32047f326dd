//! `cargo xtask book`: builds the book in `docs/book`, and runs its programs.

mod chapters;
mod page;
mod run;

pub(crate) use chapters::included;
pub(crate) use page::interactive;
pub(crate) use run::{Flags, run};
