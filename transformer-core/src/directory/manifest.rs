//! [`Manifest`]: which files are the model, and what they must contain.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{DirectoryError, Precision};

/// The version of the format of weights in full precision.
const FORMAT: u64 = 1;

/// The version in which the manifest names a precision; programs that do not know it refuse it by its number.
pub(super) const NEWEST_FORMAT: u64 = 2;

/// The file that makes a directory a model directory.
pub(crate) const MANIFEST: &str = "manifest.json";

/// What `manifest.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    pub format: u64,
    /// The files of the model.
    pub files: Files,
    /// How the weights are stored; not written if that is in full.
    #[serde(default, skip_serializing_if = "Precision::is_full")]
    pub precision: Precision,
    /// How the model was trained and how it scored, in whatever form training chose.
    pub training: Value,
}

/// The files of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The configuration.
    pub config: FileEntry,
    /// The weights.
    pub weights: FileEntry,
    /// The vocabulary of both sides; absent if each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<FileEntry>,
    /// The vocabulary of the source; absent if there is one for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src_tokenizer: Option<FileEntry>,
    /// The vocabulary of the target; absent if there is one for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tgt_tokenizer: Option<FileEntry>,
}

/// A file of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The name in the model directory.
    pub name: String,
    /// The size, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the content, as 64 hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// Describes a model, in the oldest format that can.
    pub(super) fn new(files: Files, precision: Precision, training: Value) -> Self {
        Self {
            format: if precision.is_full() {
                FORMAT
            } else {
                NEWEST_FORMAT
            },
            files,
            precision,
            training,
        }
    }

    /// Reads the text of the manifest at `path`.
    pub(super) fn parse(json: &[u8], path: &Path) -> Result<Self, DirectoryError> {
        let as_json = |source| DirectoryError::Json {
            path: path.to_owned(),
            source,
        };
        // The version first: a newer format may have other fields.
        let value: Value = serde_json::from_slice(json).map_err(as_json)?;
        match value.get("format").and_then(Value::as_u64) {
            Some(found) if !(FORMAT..=NEWEST_FORMAT).contains(&found) => {
                return Err(DirectoryError::Format {
                    path: path.to_owned(),
                    found,
                });
            }
            _ => {}
        }
        let manifest: Self = serde_json::from_value(value).map_err(as_json)?;
        for FileEntry { name, .. } in manifest.files.iter() {
            if Path::new(name).file_name() != Some(OsStr::new(name)) || name == MANIFEST {
                let (path, name) = (path.to_owned(), name.clone());
                return Err(DirectoryError::FileName { path, name });
            }
        }
        Ok(manifest)
    }
}

impl Files {
    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &FileEntry> {
        let tokenizers = [&self.tokenizer, &self.src_tokenizer, &self.tgt_tokenizer];
        [&self.config, &self.weights]
            .into_iter()
            .chain(tokenizers.into_iter().flatten())
    }
}

/// The lower-case hexadecimal digits of a SHA-256.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("a string never fails to grow by two characters");
            digits
        })
}
