//! Tests of the document layer, with translators whose output is known.

mod cases;
mod copied;
mod doubles;
mod encodings;
mod lines;
mod mangled;
mod marks;
mod properties;

pub(super) use doubles::{Copies, Reverses, markup};
