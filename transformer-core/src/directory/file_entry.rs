//! [`FileEntry`]: a file of the model, checked by size and SHA-256 whenever it is read; [`ReadAhead`] reads the weights
//! on another thread.

use std::borrow::Cow;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::{iter, panic};

use burn::tensor::Bytes;
use burn_pack::{HEADER_SIZE, Header};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::stored_weights::{ParsedRecord, TensorPlace, take_apart};
use super::{DirectoryError, ModelFiles};
use crate::regular_file;

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
        self.check_hash(&hex(hash), &path)
    }

    pub(super) fn check(&self, files: &ModelFiles) -> Result<(), DirectoryError> {
        match files {
            ModelFiles::Path(folder) => self.check_in(folder),
            // Taken to be read without a copy, and put back.
            ModelFiles::Once(_) => {
                let path = files.path().join(&self.name);
                let file = files.take(&self.name);
                let file = file.ok_or_else(|| failure(&path, ErrorKind::NotFound.into()))?;
                let hash = || hex(Sha256::new_with_prefix(&file.content));
                let checked = self
                    .check_size(file.content.len() as u64, &path)
                    .and_then(|()| {
                        self.check_hash(&file.sha256.clone().unwrap_or_else(hash), &path)
                    });
                files.put_back(&self.name, file);
                checked
            }
            ModelFiles::Memory(_) => self.content(files).map(|_| ()),
        }
    }

    pub(super) fn read(&self, files: &ModelFiles) -> Result<Vec<u8>, DirectoryError> {
        match files {
            ModelFiles::Path(folder) => {
                let path = folder.join(&self.name);
                let file = self.open(&path)?;
                let mut content = vec![0; self.check_memory(&path)?];
                let pieces = iter::once(&mut content[..]);
                self.fill(file, &path, Sha256::new(), pieces)?;
                Ok(content)
            }
            _ => self.content(files).map(Cow::into_owned),
        }
    }

    /// Reads a record and checks the content of its file. Each tensor has memory of its own, to be freed alone.
    ///
    /// The inner error is that of a file with this content that is not a record.
    pub(super) fn read_record(&self, files: &ModelFiles) -> Result<ParsedRecord, DirectoryError> {
        match files {
            ModelFiles::Path(folder) => {
                let path = folder.join(&self.name);
                self.record_from(self.open(&path)?, &path)
            }
            _ => self.content(files).map(take_apart),
        }
    }

    pub(super) fn record_from(
        &self,
        mut file: impl Read,
        path: &Path,
    ) -> Result<ParsedRecord, DirectoryError> {
        let n_bytes = self.check_memory(path)?;
        let mut head = vec![0; HEADER_SIZE.min(n_bytes)];
        let read = |error| read_failure(path, error);
        file.read_exact(&mut head).map_err(read)?;
        let n_metadata = Header::from_bytes(&head).map_or(0, |header| header.metadata_size);
        let n_read = head.len();
        head.resize(n_bytes.min(n_read.saturating_add(n_metadata as usize)), 0);
        file.read_exact(&mut head[n_read..]).map_err(read)?;
        let parsed = TensorPlace::all(&head, n_bytes);
        // Between tensors is padding, which is hashed, too. What is not a record is padding.
        let places = parsed.as_ref().map_or(&[][..], |places| &places[..]);
        let mut position = head.len();
        let mut between = |next: Range<usize>| {
            let padding = vec![0; next.start - position];
            position = next.end;
            padding
        };
        let blank = |place: &TensorPlace| (between(place.bytes.clone()), place.blank());
        let mut blanks: Vec<(Vec<u8>, Bytes)> = places.iter().map(blank).collect();
        let mut last = between(n_bytes..n_bytes);
        let pieces = blanks
            .iter_mut()
            .flat_map(|(padding, values)| [&mut padding[..], &mut values[..]])
            .chain([&mut last[..]]);
        self.fill(file, path, Sha256::new_with_prefix(&head), pieces)?;
        let values = blanks.into_iter().map(|(_, values)| values);
        Ok(parsed.map(|places| {
            places
                .into_iter()
                .zip(values)
                .map(|(it, values)| it.with(values))
                .collect()
        }))
    }

    fn content<'a>(&self, files: &'a ModelFiles) -> Result<Cow<'a, [u8]>, DirectoryError> {
        let path = files.path().join(&self.name);
        let (content, sha256) = match files.take(&self.name) {
            Some(file) => (Cow::Owned(file.content), file.sha256),
            None => {
                let content = files.read(&self.name, u64::MAX);
                (content.map_err(|error| failure(&path, error))?, None)
            }
        };
        self.check_size(content.len() as u64, &path)?;
        let sha256 = sha256.unwrap_or_else(|| hex(Sha256::new_with_prefix(&content)));
        self.check_hash(&sha256, &path).map(|()| content)
    }

    /// Reads the pieces of the file after those that `hash` has, and checks its content.
    fn fill<'a>(
        &self,
        mut file: impl Read,
        path: &Path,
        mut hash: Sha256,
        pieces: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<(), DirectoryError> {
        // Hashing takes longer than reading. Each chunk is hashed while the next one is read, if there is a second
        // thread.
        let read = thread::scope(|scope| {
            let (sender, chunks) = mpsc::channel::<&[u8]>();
            let mut ahead = hash.clone();
            let hash_all = move || {
                chunks.into_iter().for_each(|chunk| ahead.update(chunk));
                ahead
            };
            let hasher = (self.bytes > CHUNK as u64)
                .then(|| thread::Builder::new().spawn_scoped(scope, hash_all).ok())
                .flatten();
            let read = pieces
                .flat_map(|piece| piece.chunks_mut(CHUNK))
                .try_for_each(|chunk| {
                    file.read_exact(chunk)?;
                    match hasher {
                        // Sending fails if the other thread panicked, which `join` reports.
                        Some(_) => drop(sender.send(chunk)),
                        None => hash.update(&*chunk),
                    }
                    Ok(())
                });
            drop(sender);
            match hasher.map(thread::ScopedJoinHandle::join) {
                Some(Ok(hashed)) => hash = hashed,
                Some(Err(payload)) => panic::resume_unwind(payload),
                None => {}
            }
            read
        });
        read.map_err(|error| read_failure(path, error))?;
        self.check_hash(&hex(hash), path)
    }

    /// Returns the size of the file, if so much memory can be had: else its allocation would abort the process.
    fn check_memory(&self, path: &Path) -> Result<usize, DirectoryError> {
        drop(regular_file::reserve(self.bytes).map_err(|error| failure(path, error))?);
        usize::try_from(self.bytes).map_err(|_| failure(path, ErrorKind::OutOfMemory.into()))
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

    fn check_hash(&self, sha256: &str, path: &Path) -> Result<(), DirectoryError> {
        match sha256 == self.sha256 {
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

/// Returns the error of reading a file of the right size.
fn read_failure(path: &Path, source: io::Error) -> DirectoryError {
    match source.kind() {
        // The file became shorter after its size was compared.
        ErrorKind::UnexpectedEof => DirectoryError::Hash {
            path: path.to_owned(),
        },
        _ => failure(path, source),
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

/// The thread that reads a file, until its content is taken; `None` if the operating system cannot start one, and then
/// the content is read where it is needed.
#[derive(Debug, Clone)]
pub(super) struct ReadAhead(Arc<Mutex<Option<Reading>>>);

type Reading = JoinHandle<Result<ParsedRecord, DirectoryError>>;

impl ReadAhead {
    pub(super) fn start(entry: &FileEntry, files: &ModelFiles) -> Self {
        let (entry, files) = (entry.clone(), files.clone());
        let reading = thread::Builder::new().spawn(move || entry.read_record(&files));
        Self(Arc::new(Mutex::new(reading.ok())))
    }

    /// Waits for the [record](FileEntry::read_record); `None` if it was already taken, or if no thread reads it.
    pub(super) fn take(&self) -> Option<Result<ParsedRecord, DirectoryError>> {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let content = reading.take()?.join();
        Some(content.unwrap_or_else(|payload| panic::resume_unwind(payload)))
    }
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

#[cfg(test)]
mod read_ahead_tests {
    use super::*;

    #[test]
    fn the_content_can_be_taken_once() -> std::io::Result<()> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("weights"), b"content")?;
        let entry = FileEntry::new("weights", b"content");
        let reading = ReadAhead::start(&entry, &directory.path().into());
        let record = reading.take().and_then(Result::ok);
        assert!(record.is_some_and(|record| record.is_err()));
        assert!(reading.take().is_none());
        Ok(())
    }
}
