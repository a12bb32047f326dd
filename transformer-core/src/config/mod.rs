//! The hyper-parameters of the model (§3 of the paper), those of its Table 3, and adapters.

mod adapters;
mod error;
mod presets;
#[cfg(test)]
mod presets_tests;
mod transformer;

pub(crate) use adapters::AdaptedMatrix;
pub use adapters::{AdapterConfig, AdapterTarget};
pub use error::ConfigError;
pub use presets::{Preset, PresetError};
pub use transformer::{
    Activation, Initialization, NormPlacement, Positions, TransformerConfig, Tying,
};
