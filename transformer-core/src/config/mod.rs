//! The hyper-parameters of the model (§3 of the paper), those of its Table 3, and adapters.

mod adapters;
mod error;
mod parameters;
mod presets;
#[cfg(test)]
mod presets_tests;
mod transformer;
#[cfg(test)]
mod transformer_tests;

#[doc(hidden)]
pub use adapters::{AdapterConfig, AdapterTarget};
pub use error::ConfigError;
pub(crate) use parameters::{Linear, Part, Place, Stack, SubLayer, Vector};
pub use presets::Preset;
#[doc(hidden)]
pub use presets::PresetError;
pub use transformer::{
    Activation, Initialization, Mixing, NormKind, NormPlacement, Positions, TransformerConfig,
    Tying,
};
