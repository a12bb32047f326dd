//! Naming conventions of other programs for the parameters of a Transformer.

mod annotated;
mod convention;
mod form;
mod marian;
mod pytorch;

pub use convention::{Names, PytorchNames};
pub(crate) use form::{Form, Origin, transpose};
