//! Naming conventions of other programs for the parameters of a Transformer: functions from a place to a tensor.

mod convention;
mod layout;
pub(crate) mod programs;

pub use convention::{Names, PytorchNames};
pub(crate) use layout::Layout;
