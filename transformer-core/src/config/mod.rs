//! The hyper-parameters of the model (§3 and Table 3 of the paper).

mod error;
mod transformer;

pub use error::ConfigError;
pub use transformer::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
