//! `cargo xtask book`: builds the book in `docs/book`, and runs its programs.

mod page;
mod run;

pub(crate) use page::interactive;
pub(crate) use run::{Flags, included, run};
