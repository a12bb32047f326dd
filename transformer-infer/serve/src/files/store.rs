//! [`FileStore`]: keeps translated files in a temporary folder; bounded in number, size and age.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use subtle::ConstantTimeEq;
use tempfile::{NamedTempFile, TempPath};
use tokio::task::spawn_blocking;

use super::folder::PrivateFolder;
use crate::http::ApiError;
use crate::state::{Budget, Claimant, Share};
use crate::translate::TranslatedFile;
use transformer_documents::Doubtful;

#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimits {
    /// Maximum number of files, including those that are being translated.
    max_files: usize,
    /// Maximum number of files that are being translated; each caller has a share.
    max_pending: usize,
    max_bytes: u64,
    /// Time that a file is kept after its translation.
    max_age: Duration,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_files: 1000,
            max_pending: 64,
            max_bytes: 1 << 28,
            max_age: Duration::from_secs(30 * 60),
        }
    }
}

/// Keeps translated files in a temporary folder, which is removed with the store.
///
/// A file that is too old is removed at the next call. If there are too many files or bytes, the oldest file of the
/// caller with the most is removed first.
#[derive(Debug)]
pub(crate) struct FileStore {
    limits: FileLimits,
    folder: PrivateFolder,
    write: WriteFile,
    /// The oldest first.
    files: Mutex<VecDeque<StoredFile>>,
    slots: Budget,
}

/// Writes a file into a folder. It is removed on drop, and on an error.
type WriteFile = fn(&PrivateFolder, &[u8]) -> io::Result<NamedTempFile>;

/// A slot among the files that are being translated. It is occupied as long as a clone exists, for example in a thread
/// that has not yet noticed that its client hung up.
pub(crate) type Slot = Arc<Share>;

/// A file that is being translated. Dropping it before its end leaves no file.
#[derive(Debug)]
pub(crate) struct PendingFile {
    store: Arc<FileStore>,
    /// The id, which cannot be guessed.
    pub(crate) id: String,
    /// The key, which cannot be guessed.
    pub(crate) key: String,
    pub(crate) slot: Slot,
}

#[derive(Debug)]
struct StoredFile {
    id: String,
    key: String,
    name: String,
    caller: u64,
    /// The id of the request that sent it.
    request: Arc<str>,
    since: Instant,
    n_bytes: u64,
    state: FileState,
}

#[derive(Clone, Debug)]
pub(crate) enum FileState {
    Pending,
    Ready {
        name: String,
        /// The path; the file is removed when this is dropped.
        path: Arc<TempPath>,
        n_chars: usize,
        doubtful: Doubtful,
    },
    /// Not translated, for this reason.
    Failed(String),
}

impl FileState {
    fn is_pending(&self) -> bool {
        matches!(self, Self::Pending)
    }
}

impl FileStore {
    /// Makes a store with a folder in `parent`, and removes the folders that killed servers left there.
    pub(crate) fn new(parent: &Path, limits: FileLimits) -> io::Result<Self> {
        let folder = PrivateFolder::new_in(parent)?;
        write_file(&folder, b"")?;
        if let Err(error) = PrivateFolder::remove_abandoned(parent) {
            tracing::warn!(%error, "cannot look for files of killed servers");
        }
        Ok(Self {
            limits,
            folder,
            write: write_file,
            files: Mutex::default(),
            slots: Budget::new(limits.max_pending, 1),
        })
    }

    /// Accepts a file of a caller, sent by this request; `None` if too many are being translated, in all or for it.
    pub(crate) fn accept(
        self: &Arc<Self>,
        caller: Claimant,
        request: &Arc<str>,
        name: &str,
    ) -> Option<PendingFile> {
        let slot = Arc::new(self.slots.take(caller, 1)?);
        let mut files = self.lock();
        let (id, key) = (random_name(), random_name() + &random_name());
        files.push_back(StoredFile {
            id: id.clone(),
            key: key.clone(),
            name: name.to_owned(),
            caller: caller.id,
            request: request.clone(),
            since: Instant::now(),
            n_bytes: 0,
            state: FileState::Pending,
        });
        self.make_room(&mut files, 0);
        Some(PendingFile {
            store: self.clone(),
            id,
            key,
            slot,
        })
    }

    pub(crate) fn n_pending_of(&self, caller: u64) -> usize {
        self.slots.used_by(caller)
    }

    /// Returns the ids of the requests that sent the files that are being translated.
    pub(crate) fn pending(&self) -> Vec<Arc<str>> {
        let files = self.lock();
        let pending = files.iter().filter(|file| file.state.is_pending());
        pending.map(|file| file.request.clone()).collect()
    }

    /// Removes the folder at the end of the server: threads that still hold the store cannot store more.
    pub(crate) fn remove_folder(&self) {
        let _ = fs::remove_dir_all(self.folder.path());
    }

    fn finish(&self, id: &str, translated: &TranslatedFile, n_chars: usize) -> io::Result<()> {
        let TranslatedFile { bytes, doubtful } = translated;
        let n_bytes = bytes.len() as u64;
        if n_bytes > self.limits.max_bytes {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let path = Arc::new(self.write(bytes)?.into_temp_path());
        let mut files = self.lock();
        self.make_room(&mut files, n_bytes);
        if let Some(file) = files.iter_mut().find(|file| file.id == id) {
            file.n_bytes = n_bytes;
            file.since = Instant::now();
            file.state = FileState::Ready {
                name: file.name.clone(),
                path,
                n_chars,
                doubtful: *doubtful,
            };
        }
        Ok(())
    }

    /// Writes a file. If the disk is full, translated files make room, unless all together are smaller than it.
    fn write(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let written = (self.write)(&self.folder, bytes);
        if !written.as_ref().is_err_and(is_full) {
            return written;
        }
        let n_bytes = bytes.len() as u64;
        let mut files = self.lock();
        let ready = files.iter().filter(|file| is_ready(&file.state));
        if ready.map(|file| file.n_bytes).sum::<u64>() < n_bytes {
            return written;
        }
        let mut n_freed = 0;
        while n_freed < n_bytes
            && let Some(file) = self.evict(&mut files, is_ready)
        {
            n_freed += file.n_bytes;
        }
        drop(files);
        (self.write)(&self.folder, bytes)
    }

    /// Returns the progress of a file; `None` if no file has this id and, if one is given, this key.
    pub(crate) fn state(&self, id: &str, key: Option<&str>) -> Option<FileState> {
        let files = self.lock();
        let has_key =
            |file: &StoredFile, key: &str| bool::from(file.key.as_bytes().ct_eq(key.as_bytes()));
        let is_it = |file: &&StoredFile| file.id == id && key.is_none_or(|key| has_key(file, key));
        files.iter().find(is_it).map(|file| file.state.clone())
    }

    /// Removes files that are too old, and returns the others.
    fn lock(&self) -> MutexGuard<'_, VecDeque<StoredFile>> {
        let mut files = self.files.lock();
        let max_age = self.limits.max_age;
        files.retain(|file| file.state.is_pending() || file.since.elapsed() < max_age);
        files
    }

    /// Removes files that are not pending until `n_bytes` more fit.
    fn make_room(&self, files: &mut VecDeque<StoredFile>, n_bytes: u64) {
        let mut n_stored: u64 = files.iter().map(|file| file.n_bytes).sum();
        while files.len() > self.limits.max_files || n_stored + n_bytes > self.limits.max_bytes {
            let Some(file) = self.evict(files, |state| !state.is_pending()) else {
                return;
            };
            n_stored -= file.n_bytes;
        }
    }

    /// Removes the oldest file in such a state, of the caller with the most. A caller's files count by their number and
    /// their bytes, each as a part of its limit.
    fn evict(
        &self,
        files: &mut VecDeque<StoredFile>,
        is_such: impl Fn(&FileState) -> bool,
    ) -> Option<StoredFile> {
        let FileLimits {
            max_files,
            max_bytes,
            ..
        } = self.limits;
        let mut parts: HashMap<u64, u64> = HashMap::new();
        for file in files.iter().filter(|file| is_such(&file.state)) {
            *parts.entry(file.caller).or_default() += file.n_bytes * max_files as u64 + max_bytes;
        }
        let such = files.iter().enumerate();
        let such = such.filter(|(_, file)| is_such(&file.state));
        // Of equal parts the last one counts, which is the oldest file.
        let (at, _) = such.rev().max_by_key(|(_, file)| parts[&file.caller])?;
        files.remove(at)
    }
}

impl PendingFile {
    pub(crate) async fn finish(
        &self,
        translated: TranslatedFile,
        n_chars: usize,
    ) -> Result<(), ApiError> {
        let (store, id, slot) = (self.store.clone(), self.id.clone(), self.slot.clone());
        let finish = move || {
            let stored = store.finish(&id, &translated, n_chars);
            drop(slot);
            stored
        };
        let stored = spawn_blocking(finish).await;
        stored.map_err(|_| ApiError::Internal)?.map_err(|error| {
            tracing::error!(%error, "a translated file cannot be stored");
            match is_full(&error) || error.kind() == ErrorKind::FileTooLarge {
                true => ApiError::Storage,
                false => ApiError::Internal,
            }
        })
    }

    /// Records the reason why there will be no translation.
    pub(crate) fn fail(&self, error: &ApiError) {
        let mut files = self.store.lock();
        if let Some(file) = files.iter_mut().find(|file| file.id == self.id) {
            file.since = Instant::now();
            file.state = FileState::Failed(error.to_string());
        }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        let mut files = self.store.lock();
        files.retain(|file| file.id != self.id || !file.state.is_pending());
    }
}

fn write_file(folder: &PrivateFolder, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = folder.make_file()?;
    file.write_all(bytes)?;
    Ok(file)
}

fn is_ready(state: &FileState) -> bool {
    matches!(state, FileState::Ready { .. })
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Returns 128 random bits, as hexadecimal digits.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Some systems have no source of randomness; this uses the seeds of the standard library's hashers.
        use std::hash::{BuildHasher, RandomState};
        let (low, high) = bytes.split_at_mut(8);
        low.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        high.copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
