//! Naming conventions of other programs for the parameters of a Transformer: functions from a place to a tensor.

mod annotated;
mod convention;
pub(crate) mod ctranslate2;
mod layout;
mod marian;
mod marian_binary;
mod pytorch;

pub use convention::Names;
pub(crate) use layout::Layout;
pub use pytorch::PytorchNames;
