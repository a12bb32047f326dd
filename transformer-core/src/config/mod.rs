//! The hyper-parameters of the model (§3 of the paper), those of its Table 3, and adapters.

mod adapters;
mod error;
mod presets;
mod transformer;

pub(crate) use adapters::AdaptedMatrix;
pub use adapters::{AdapterConfig, AdapterTarget};
pub use error::ConfigError;
pub use presets::{Preset, PresetError};
pub use transformer::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
