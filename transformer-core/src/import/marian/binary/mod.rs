//! Models in Marian's own formats: the binary one, in which Firefox Translations, Bergamot and translateLocally publish
//! them, and NumPy's `.npz`, in which Marian trains and OPUS-MT publishes.
//!
//! A folder has `model.*.bin`, with weights and settings, and SentencePiece models: `vocab.*.spm`, or `srcvocab.*.spm`
//! and `trgvocab.*.spm`. A lexical shortlist, search settings and metadata are optional. The ids are those of the
//! SentencePiece models, with `</s>` as 0 and `<unk>` as 1; decoding starts from a vector of zeros, which becomes the
//! row of our `<s>`. A folder of OPUS-MT has `*.npz` instead, `decoder.yml`, which names files and search settings, and
//! vocabularies in YAML beside `source.spm` and `target.spm`.

pub(crate) mod container;
mod error;
mod files;
mod model;
pub(crate) mod settings;
mod vocabulary;

pub use container::{read_container, read_npz};
pub use error::BinaryError;
pub(super) use files::is_binary;
pub(super) use model::read;
pub(crate) use model::reorder;
