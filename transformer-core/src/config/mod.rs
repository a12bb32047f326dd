//! The hyper-parameters of the model (§3 of the paper), and those of its Table 3.

mod error;
mod presets;
mod transformer;

pub use error::ConfigError;
pub use presets::{Preset, PresetError};
pub use transformer::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
