//! Naming conventions of other programs for the parameters of a Transformer: functions from a place to a tensor.

mod annotated;
mod convention;
mod layout;
mod marian;
mod marian_binary;
mod pytorch;

pub use convention::Names;
pub(crate) use layout::{Layout, kind};
pub use pytorch::PytorchNames;
