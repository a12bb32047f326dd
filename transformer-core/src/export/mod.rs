//! Export of models to other programs; [`import`](crate::import) is the opposite direction.
//!
//! - `marian`: [`to_marian`] and [`to_pegasus`], for Hugging Face's Transformers.
//! - `bergamot`: [`to_bergamot`], for Firefox Translations and Bergamot.
//! - `ctranslate2`: [`to_ctranslate2`], for CTranslate2.
//! - `state_dict`: [`StateDict::from_model`](crate::import::StateDict::from_model), the weights of a
//!   model by name.
//! - `files`: [`to_safetensors`], for other programs; and the files common to all formats.

mod bergamot;
mod ctranslate2;
mod error;
mod files;
mod marian;
mod state_dict;

pub use bergamot::to_bergamot;
pub use ctranslate2::to_ctranslate2;
#[doc(hidden)]
pub use error::ExportError;
pub use files::to_safetensors;
pub use marian::{to_marian, to_pegasus};
