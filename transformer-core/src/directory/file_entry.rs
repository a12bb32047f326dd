//! [`FileEntry`]: a file of the model, checked by size and SHA-256 whenever it is read.

use std::borrow::Cow;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::DerefMut;
use std::path::Path;
use std::sync::mpsc;
use std::{panic, thread};

use burn::tensor::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{DirectoryError, ModelFiles};
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

    /// Returns whether the directory has the file, with this content.
    pub fn is_intact_in(&self, directory: &Path) -> bool {
        self.check_in(directory).is_ok()
    }

    /// Checks that the directory has the file, with this content.
    ///
    /// # Errors
    ///
    /// Returns a [`DirectoryError`] that distinguishes files that are missing, unreadable or changed.
    pub fn check_in(&self, directory: &Path) -> Result<(), DirectoryError> {
        let path = directory.join(&self.name);
        let mut file = self.open(&path)?;
        let mut hash = Sha256::new();
        let mut chunk = vec![
            0;
            CHUNK
                .min(usize::try_from(self.bytes).unwrap_or(CHUNK))
                .max(1)
        ];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => hash.update(&chunk[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(&path, error)),
            }
        }
        self.check_hash(hash, &path)
    }

    /// Checks the content of the file.
    pub(super) fn check(&self, files: &ModelFiles) -> Result<(), DirectoryError> {
        match files {
            ModelFiles::Path(folder) => self.check_in(folder),
            ModelFiles::Memory(_) => self.content(files).map(|_| ()),
        }
    }

    /// Reads the file and checks its content.
    pub(super) fn read(&self, files: &ModelFiles) -> Result<Vec<u8>, DirectoryError> {
        match files {
            ModelFiles::Path(folder) => self.read_to(folder, |n_bytes| vec![0; n_bytes]),
            ModelFiles::Memory(_) => self.content(files).map(Cow::into_owned),
        }
    }

    /// Reads the file and checks its content; up to 15 zeros follow it.
    ///
    /// The content is aligned for every type of values. Burn copies buffers that were allocated as bytes.
    pub(super) fn read_aligned(&self, files: &ModelFiles) -> Result<Bytes, DirectoryError> {
        let allocate =
            |n_bytes: usize| Bytes::from_elems(vec![0_u128; n_bytes.div_ceil(size_of::<u128>())]);
        match files {
            ModelFiles::Path(folder) => self.read_to(folder, allocate),
            ModelFiles::Memory(_) => {
                let content = self.content(files)?;
                let mut aligned = allocate(content.len());
                aligned[..content.len()].copy_from_slice(&content);
                Ok(aligned)
            }
        }
    }

    /// Returns the checked content of a file in memory.
    fn content<'a>(&self, files: &'a ModelFiles) -> Result<Cow<'a, [u8]>, DirectoryError> {
        let path = files.path().join(&self.name);
        let content = files.read(&self.name, u64::MAX);
        let content = content.map_err(|error| failure(&path, error))?;
        self.check_size(content.len() as u64, &path)?;
        self.check_hash(Sha256::new_with_prefix(&content), &path)?;
        Ok(content)
    }

    /// Reads the file into a buffer of at least its size.
    fn read_to<B: DerefMut<Target = [u8]>>(
        &self,
        directory: &Path,
        allocate: impl FnOnce(usize) -> B,
    ) -> Result<B, DirectoryError> {
        let path = directory.join(&self.name);
        let mut file = self.open(&path)?;
        let n_bytes = usize::try_from(self.bytes);
        let n_bytes = n_bytes.map_err(|_| failure(&path, ErrorKind::OutOfMemory.into()))?;
        // The allocation below would abort the process.
        drop(regular_file::reserve(self.bytes).map_err(|error| failure(&path, error))?);
        let mut buffer = allocate(n_bytes);
        let content = &mut buffer[..n_bytes];
        let mut hash = Sha256::new();
        let mut is_hashed = true;
        let read = if n_bytes <= CHUNK {
            file.read_exact(content).map(|()| hash.update(content))
        } else {
            // Hashing takes longer than reading. Each chunk is hashed while the next one is read.
            thread::scope(|scope| {
                let (sender, chunks) = mpsc::channel::<&[u8]>();
                let hash_all = || chunks.into_iter().for_each(|chunk| hash.update(chunk));
                let hasher = thread::Builder::new().spawn_scoped(scope, hash_all);
                let read = content.chunks_mut(CHUNK).try_for_each(|chunk| {
                    file.read_exact(chunk)?;
                    // Sending fails if there is no other thread, or if it panicked, which `join` reports.
                    let _ = sender.send(chunk);
                    Ok(())
                });
                drop(sender);
                is_hashed = hasher.is_ok();
                let hashed = hasher.map(thread::ScopedJoinHandle::join);
                if let Ok(Err(payload)) = hashed {
                    panic::resume_unwind(payload);
                }
                read
            })
        };
        if !is_hashed {
            // The operating system cannot start a thread for it.
            hash.update(&buffer[..n_bytes]);
        }
        match read {
            // The file became shorter after its size was compared.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(DirectoryError::Hash { path })
            }
            Err(error) => Err(failure(&path, error)),
            Ok(()) => self.check_hash(hash, &path).map(|()| buffer),
        }
    }

    /// Returns whether the file at `path` has this content, under any name.
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

    /// Opens the file at `path`, and compares its size.
    fn open(&self, path: &Path) -> Result<File, DirectoryError> {
        let file = regular_file::open(path).map_err(|error| failure(path, error))?;
        let metadata = file.metadata().map_err(|error| failure(path, error))?;
        self.check_size(metadata.len(), path).map(|()| file)
    }

    fn check_size(&self, found: u64, path: &Path) -> Result<(), DirectoryError> {
        match found == self.bytes {
            true => Ok(()),
            false => Err(DirectoryError::Size {
                path: path.to_owned(),
                found,
                expected: self.bytes,
            }),
        }
    }

    fn check_hash(&self, hash: Sha256, path: &Path) -> Result<(), DirectoryError> {
        match hex(hash) == self.sha256 {
            true => Ok(()),
            false => Err(DirectoryError::Hash {
                path: path.to_owned(),
            }),
        }
    }
}

fn failure(path: &Path, source: io::Error) -> DirectoryError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::NotFound => DirectoryError::MissingFile { path },
        _ => DirectoryError::Read { path, source },
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

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::{TempDir, tempdir};

    use super::*;

    /// Writes a file of two chunks and a part of one.
    fn written() -> io::Result<(TempDir, FileEntry, Vec<u8>)> {
        let directory = tempdir()?;
        let content: Vec<u8> = (0..2 * CHUNK + 17).map(|i| (i % 251) as u8).collect();
        fs::write(directory.path().join("weights"), &content)?;
        let entry = FileEntry::new("weights", &content);
        Ok((directory, entry, content))
    }

    #[test]
    fn a_file_of_several_chunks_is_read_as_it_was_written() -> io::Result<()> {
        let (directory, entry, content) = written()?;
        assert_eq!(entry.read(&directory.path().into()).ok(), Some(content));
        Ok(())
    }

    #[test]
    fn weights_are_read_to_where_burn_leaves_them() -> io::Result<()> {
        let (directory, entry, content) = written()?;
        let read = entry.read_aligned(&directory.path().into());
        let read = read.expect("it was just written");
        assert_eq!(read[..content.len()], content);
        assert!(read.len() < content.len() + 16 && read.align() >= 16);
        Ok(())
    }

    #[test]
    fn a_changed_byte_in_any_chunk_is_detected() -> io::Result<()> {
        let (directory, entry, content) = written()?;
        for position in [0, CHUNK, content.len() - 1] {
            let mut changed = content.clone();
            changed[position] ^= 1;
            fs::write(directory.path().join("weights"), changed)?;
            let refused = entry.read(&directory.path().into());
            assert!(
                matches!(refused, Err(DirectoryError::Hash { .. })),
                "{position}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_longer_file_is_detected_before_it_is_read() -> io::Result<()> {
        let (directory, entry, mut content) = written()?;
        content.push(0);
        fs::write(directory.path().join("weights"), content)?;
        let refused = entry.read(&directory.path().into());
        assert!(matches!(refused, Err(DirectoryError::Size { .. })));
        Ok(())
    }
}
