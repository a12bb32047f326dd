//! The model directory: the interface between training and inference.
//!
//! ```text
//! manifest.json        format version; name, size and SHA-256 of each file; how it was trained
//! config.json          the TransformerConfig
//! weights.bpk          the weights, a Burn record
//! tokenizer.json       one vocabulary for both sides, or else
//! src_tokenizer.json   the vocabulary of the source and
//! tgt_tokenizer.json   the vocabulary of the target
//! ```
//!
//! A file belongs to the model only if the manifest names it. A new model is written beside the old one, under unused
//! names (`weights.0a1b2c3d.bpk`), and becomes the model when its manifest replaces the old one in a single rename. So
//! a kill, a crash or a full disk at any moment leaves the old model or the new one, never a mixture.

mod atomic;
mod error;
mod extend_vocabulary;
mod file_entry;
mod int8;
mod load;
mod manifest;
mod model_directory;
mod model_files;
mod precision;
mod run_folder;
mod stored_tensors;
mod stored_weights;
mod tokenizers;
mod write;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use atomic::{check_link, create_folder, replace_file, undo_on_failure, write_file};
#[doc(hidden)]
pub use error::DirectoryError;
pub use error::LoadError;
#[doc(hidden)]
pub use extend_vocabulary::{ExtendVocabularyError, ExtendedVocabulary, NewPieces, VocabularySide};
#[doc(hidden)]
pub use file_entry::FileEntry;
pub(crate) use int8::{ChannelAxis, quantize_matrix};
#[doc(hidden)]
pub use load::with_named_ids;
pub(crate) use manifest::MANIFEST;
#[doc(hidden)]
pub use manifest::{Files, Manifest, SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER};
pub use model_directory::ModelDirectory;
pub use model_files::{ModelFiles, OnceFile};
pub use precision::Precision;
#[doc(hidden)]
pub use precision::QuantizeError;
#[doc(hidden)]
pub use run_folder::belongs_to_a_run;
pub(crate) use stored_tensors::{StoredTensor, StoredTensors};
#[doc(hidden)]
pub use tokenizers::Languages;
pub use tokenizers::Tokenizers;
pub use write::ModelParts;
