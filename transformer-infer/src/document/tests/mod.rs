//! Tests of the document layer, with translators whose output is known.

mod copied;
mod doubles;
mod lines;
mod marks;
mod properties;

pub(super) use doubles::{Copies, Reverses, markup};
