//! Text in, text out.

mod error;
mod translate;

pub use error::TranslatorError;
pub use translate::{Candidate, Input, Translation, Translator, Warning};
