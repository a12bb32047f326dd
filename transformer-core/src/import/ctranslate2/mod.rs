//! Models of CTranslate2, and packages of Argos Translate.
//!
//! A folder has `model.bin`, with weights and settings, `config.json` and vocabularies of strings. A package is a zip
//! archive with such a folder, a SentencePiece model and `metadata.json`. Pieces of words are found in the vocabulary
//! by their spelling, and the special tokens are renumbered as those of Marian's models.
//!
//! - `container`: the variables of `model.bin`.
//! - `settings`: the settings in them, as our config.
//! - `positions`: the kind of positions in a table.
//! - `package`: the files of a folder or of a package.
//! - `vocabulary`: tokens and pieces.
//! - `model`: the imported model.
//! - `error`: [`CTranslate2Error`].

mod container;
mod error;
mod model;
mod package;
mod positions;
mod settings;
mod vocabulary;

pub use container::read_container;
pub use error::CTranslate2Error;
pub(super) use model::read;
pub(super) use package::{MAX_EXPANSION, is_ctranslate2};
