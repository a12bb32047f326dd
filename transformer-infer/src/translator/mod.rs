//! [`Translator`]: translates lines of text with a model and its tokenizers.

mod error;
mod loaded_model;
mod translate;

pub use error::TranslatorError;
pub use translate::{Candidate, Input, OpenOptions, Translation, Translator, Warning};
