//! Naming conventions of other programs for the parameters of a Transformer: functions from a place to a tensor.

mod annotated;
mod convention;
mod layout;
mod marian;
mod pytorch;

pub use convention::{Names, PytorchNames};
pub(crate) use layout::{Layout, kind};
