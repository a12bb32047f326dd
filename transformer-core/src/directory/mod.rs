//! The model directory: the one thing that training writes and inference reads.
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
//! The manifest decides: a file belongs to the model if the manifest names it. A new model is
//! written beside the old one, under names not in use (`weights.0a1b2c3d.bpk`), and becomes the
//! model when its manifest replaces the old manifest, in one rename. So a kill, a crash or a full
//! disk at any moment leaves the old model or the new one.

mod error;
mod int8;
mod load;
mod manifest;
mod precision;
mod quantize;
mod read;
mod run_folder;
mod tokenizers;
mod write;

#[cfg(test)]
mod tests;

pub use error::DirectoryError;
pub use load::LoadError;
pub(crate) use manifest::MANIFEST;
pub use manifest::{FileEntry, Files, Manifest};
pub use precision::Precision;
pub use quantize::ReduceError;
pub use read::ModelDirectory;
pub use run_folder::belongs_to_a_run;
pub use tokenizers::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers};
pub use write::{ModelParts, replace_file, write_file};
