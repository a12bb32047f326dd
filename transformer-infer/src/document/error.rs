//! [`DocumentError`]: the reason why a document cannot be translated, and the remedy.

use std::io;

use transformer_translate::TranslatorError;

use super::ReadError;

/// The reason why a document cannot be read or translated, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error("cannot write the translation; check the disk and the rights")]
    Write(#[source] io::Error),
    /// The translation or its word alignment failed.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
}
