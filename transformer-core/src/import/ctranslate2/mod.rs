//! Models of CTranslate2, and packages of Argos Translate.
//!
//! A folder has `model.bin`, with weights and settings, `config.json` and vocabularies of strings. A package is a zip
//! archive with such a folder, a SentencePiece model and `metadata.json`. Pieces of words are found in the vocabulary
//! by their spelling, and the special tokens are renumbered as those of Marian's models.

mod container;
mod error;
mod model;
mod package;
mod settings;
mod vocabulary;

pub use container::read_container;
pub use error::CTranslate2Error;
pub(super) use model::read;
pub(super) use package::{is_ctranslate2, max_expanded};
