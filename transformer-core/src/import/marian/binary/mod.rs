//! Models in Marian's binary format, in which Firefox Translations, Bergamot and translateLocally publish them.
//!
//! A folder has `model.*.bin`, with weights and settings, and SentencePiece models: `vocab.*.spm`, or `srcvocab.*.spm`
//! and `trgvocab.*.spm`. A lexical shortlist, search settings and metadata are optional. The ids are those of the
//! SentencePiece models, with `</s>` as 0 and `<unk>` as 1; decoding starts from a vector of zeros, which becomes the
//! row of our `<s>`.
//!
//! - `container`: named arrays in the binary file.
//! - `yaml`: the flat part of YAML in which Marian writes settings.
//! - `settings`: the settings, as our config.
//! - `files`: which files belong to a model.
//! - `model`: the imported model.
//! - `error`: [`BinaryError`].

mod container;
mod error;
mod files;
mod model;
mod settings;
mod yaml;

pub use container::read_container;
pub use error::BinaryError;
pub(super) use files::is_binary;
pub(super) use model::read;
pub(in crate::import) use model::reorder;
