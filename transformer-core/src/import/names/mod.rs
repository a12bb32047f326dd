//! Naming conventions of other programs for the parameters of a Transformer.

mod annotated;
mod convention;
mod layout;
mod marian;
mod pytorch;

pub use convention::{Names, PytorchNames};
pub(crate) use layout::{Layout, SourceTensor, transpose};
