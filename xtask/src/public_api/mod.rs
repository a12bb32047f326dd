//! `cargo xtask public-api`: what programs can use of the crates, listed in files that are checked in.
//!
//! The lists are read from the sources, so that they do not depend on the version of rustdoc. Where rustdoc's pages are
//! built, the names are compared with its own index.

mod items;
mod list;
mod modules;
mod paths;
mod run;
mod rustdoc;
mod text;

pub(crate) use run::{Flags, check, run};
