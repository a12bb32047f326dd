//! Tests of documents, with translators of known output.

mod cases;
mod checked;
mod copied;
mod doubles;
mod encodings;
mod formats;
mod lines;
mod mangled;
mod marks;
mod properties;

pub(super) use doubles::{Copies, Reverses, markup, translate_sentences};
