//! [`FileEntry`]: a file of the model, checked by size and SHA-256 whenever it is read.

use std::fmt::Write;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::DirectoryError;
use crate::regular_file;

/// Number of bytes that are read and hashed at a time.
const CHUNK: usize = 1 << 20;

/// Name, size and hash of a file of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Name in the model directory.
    pub name: String,
    /// Size, in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, as 64 hexadecimal digits.
    pub sha256: String,
}

impl FileEntry {
    /// Describes a file with this name and content.
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            bytes: content.len() as u64,
            sha256: hex(Sha256::new_with_prefix(content)),
        }
    }

    /// Checks whether the directory has the file, with this content.
    pub fn is_intact_in(&self, directory: &Path) -> bool {
        self.check_in(directory).is_ok()
    }

    /// Checks that the directory has the file, with this content.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] that tells apart a file that is missing, unreadable or changed.
    pub fn check_in(&self, directory: &Path) -> Result<(), DirectoryError> {
        self.scan(directory, |_| {})
    }

    /// Reads the file and checks its content.
    pub(super) fn read_in(&self, directory: &Path) -> Result<Vec<u8>, DirectoryError> {
        let mut content = Vec::new();
        self.scan(directory, |chunk| {
            if content.capacity() == 0 {
                // `scan` has compared the sizes before the first chunk.
                content.reserve_exact(usize::try_from(self.bytes).unwrap_or(0));
            }
            content.extend_from_slice(chunk);
        })?;
        Ok(content)
    }

    /// Checks whether the file at `path` has this content, whatever its name.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let name = path.file_name();
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let entry = Self {
            name: name.unwrap_or_default(),
            ..self.clone()
        };
        path.parent()
            .is_some_and(|directory| entry.is_intact_in(directory))
    }

    /// Passes the content to `visit` in chunks, and checks size and hash.
    fn scan(&self, directory: &Path, mut visit: impl FnMut(&[u8])) -> Result<(), DirectoryError> {
        let path = directory.join(&self.name);
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => DirectoryError::MissingFile { path: path.clone() },
            _ => DirectoryError::Read {
                path: path.clone(),
                source,
            },
        };
        let mut file = regular_file::open(&path).map_err(failed)?;
        let (found, expected) = (file.metadata().map_err(failed)?.len(), self.bytes);
        if found != expected {
            return Err(DirectoryError::Size {
                path,
                found,
                expected,
            });
        }
        let mut hash = Sha256::new();
        let mut chunk = vec![0; CHUNK.min(usize::try_from(expected).unwrap_or(CHUNK)).max(1)];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => {
                    hash.update(&chunk[..n]);
                    visit(&chunk[..n]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if hex(hash) == self.sha256 {
            Ok(())
        } else {
            Err(DirectoryError::Hash { path })
        }
    }
}

/// Finishes a SHA-256 and returns its lower-case hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
            digits
        })
}
