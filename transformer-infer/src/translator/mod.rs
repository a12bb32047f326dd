//! [`Translator`]: translates lines of text with a model and its tokenizers.

mod error;
mod translate;

pub use error::TranslatorError;
pub use translate::{Candidate, Input, Translation, Translator, Warning};
