//! [`Manifest`]: the files of the model, with their names and contents, and the versions of its format.

use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DirectoryError, FileEntry, Languages, Precision};
use crate::json;

/// Version of the format for weights in full precision.
pub(super) const FORMAT: u64 = 1;

/// First version with a precision in the manifest. Older programs refuse it by this number.
pub(super) const NEWEST_FORMAT: u64 = 2;

/// The file that makes a directory a model directory.
pub(crate) const MANIFEST: &str = "manifest.json";

pub(super) const CONFIG: &str = "config.json";
pub(super) const WEIGHTS: &str = "weights.bpk";

pub(super) const SHORTLIST: &str = "shortlist.bin";

/// File of the tokenizer of both sides.
pub const TOKENIZER: &str = "tokenizer.json";

/// File of the source tokenizer.
pub const SRC_TOKENIZER: &str = "src_tokenizer.json";

/// File of the target tokenizer.
pub const TGT_TOKENIZER: &str = "tgt_tokenizer.json";

/// The content of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format.
    pub format: u64,
    /// Files of the model.
    pub files: Files,
    /// Format of the stored weights; omitted in the file for full precision.
    #[serde(default, skip_serializing_if = "Precision::is_full")]
    pub precision: Precision,
    /// The training and the scores of the model, in a form that training chooses. The keys of [`Languages`] are
    /// checked.
    pub training: Value,
}

/// The files of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Configuration.
    pub config: FileEntry,
    /// Weights.
    pub weights: FileEntry,
    /// Joint vocabulary; absent if each side has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<FileEntry>,
    /// Source vocabulary; absent if there is a joint one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src_tokenizer: Option<FileEntry>,
    /// Target vocabulary; absent if there is a joint one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tgt_tokenizer: Option<FileEntry>,
    /// Shortlist of target tokens; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortlist: Option<FileEntry>,
}

impl Manifest {
    /// Describes a model, in the oldest format that supports it.
    pub(super) fn new(files: Files, precision: Precision, training: Value) -> Self {
        Self {
            format: format_of(precision),
            files,
            precision,
            training,
        }
    }

    pub(super) fn parse(text: &[u8], path: &Path) -> Result<Self, DirectoryError> {
        let invalid = |source| DirectoryError::Json {
            path: path.to_owned(),
            source,
        };
        // The version first, because a newer format may have other fields.
        let value = json::parse(text).map_err(invalid)?;
        match value.get("format").and_then(Value::as_u64) {
            Some(found) if !(FORMAT..=NEWEST_FORMAT).contains(&found) => {
                return Err(DirectoryError::Format {
                    path: path.to_owned(),
                    found,
                });
            }
            _ => {}
        }
        let manifest: Self = json::from_value(&value).map_err(invalid)?;
        let (format, precision) = (manifest.format, manifest.precision);
        if format != format_of(precision) {
            let path = path.to_owned();
            return Err(DirectoryError::Precision {
                path,
                format,
                precision,
            });
        }
        manifest.languages(path)?;
        for FileEntry { name, .. } in manifest.files.iter() {
            if Path::new(name).file_name() != Some(OsStr::new(name)) || name == MANIFEST {
                let (path, name) = (path.to_owned(), name.clone());
                return Err(DirectoryError::FileName { path, name });
            }
        }
        Ok(manifest)
    }

    /// Reads the languages of the model; `path` is the path of the manifest.
    pub(super) fn languages(&self, path: &Path) -> Result<Languages, DirectoryError> {
        Languages::of(&self.training).map_err(|(key, source)| {
            let path = path.to_owned();
            DirectoryError::Language { path, key, source }
        })
    }
}

fn format_of(precision: Precision) -> u64 {
    match precision {
        Precision::F32 => FORMAT,
        Precision::F16 | Precision::Int8 => NEWEST_FORMAT,
    }
}

impl Files {
    /// Iterates over all files.
    pub fn iter(&self) -> impl Iterator<Item = &FileEntry> {
        let optional = [
            &self.tokenizer,
            &self.src_tokenizer,
            &self.tgt_tokenizer,
            &self.shortlist,
        ];
        [&self.config, &self.weights]
            .into_iter()
            .chain(optional.into_iter().flatten())
    }
}
