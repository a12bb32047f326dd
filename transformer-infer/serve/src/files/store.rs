//! [`FileStore`]: keeps translated files in a temporary folder; bounded in number, size and age.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use subtle::ConstantTimeEq;
use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::folder::PrivateFolder;
use crate::http::ApiError;

/// The limits of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimits {
    /// Maximum number of files, including those that are being translated.
    max_files: usize,
    /// Maximum number of files that are being translated.
    max_pending: usize,
    /// The same for each caller.
    max_pending_of_caller: usize,
    /// Maximum number of bytes of all files.
    max_bytes: u64,
    /// Time that a file is kept after its translation.
    max_age: Duration,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_files: 1000,
            max_pending: 64,
            max_pending_of_caller: 16,
            max_bytes: 1 << 28,
            max_age: Duration::from_secs(30 * 60),
        }
    }
}

/// Keeps translated files in a temporary folder, which is removed with the store.
///
/// A file that is too old is removed at the next call. If there are too many files or bytes, the oldest files are
/// removed first.
#[derive(Debug)]
pub(crate) struct FileStore {
    limits: FileLimits,
    /// The folder of temporary files.
    parent: PathBuf,
    /// Made for the first file.
    folder: OnceLock<PrivateFolder>,
    /// The oldest first.
    files: Mutex<VecDeque<StoredFile>>,
    slots: Mutex<Vec<Weak<u64>>>,
}

/// A slot among the files that are being translated, with the id of its caller. It is occupied as long as a clone
/// exists, for example in a thread that has not yet noticed that its client hung up.
pub(crate) type Slot = Arc<u64>;

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

/// An accepted file.
#[derive(Debug)]
struct StoredFile {
    id: String,
    /// The key that the client needs for access, in interfaces with such keys.
    key: String,
    name: String,
    since: Instant,
    n_bytes: u64,
    state: FileState,
}

/// The state of a file.
#[derive(Clone, Debug)]
pub(crate) enum FileState {
    /// Being translated.
    Pending,
    /// Ready to be fetched.
    Ready {
        /// Name for the client.
        name: String,
        /// The path; the file is removed when this is dropped.
        path: Arc<TempPath>,
        /// Number of characters of its source.
        n_chars: usize,
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
    pub(crate) fn new(parent: PathBuf) -> Self {
        if let Err(error) = PrivateFolder::remove_abandoned(&parent) {
            tracing::warn!(%error, "cannot look for files of killed servers");
        }
        Self {
            limits: FileLimits::default(),
            parent,
            folder: OnceLock::new(),
            files: Mutex::default(),
            slots: Mutex::default(),
        }
    }

    /// Accepts a file of a caller under this name.
    ///
    /// # Errors
    ///
    /// Returns [`ApiError::Busy`] if the maximum number is being translated, for all callers or for this one.
    pub(crate) fn accept(
        self: &Arc<Self>,
        caller: u64,
        name: &str,
    ) -> Result<PendingFile, ApiError> {
        let slot = self.slot(caller)?;
        let mut files = self.lock();
        let (id, key) = (random_name(), random_name());
        files.push_back(StoredFile {
            id: id.clone(),
            key: key.clone(),
            name: name.to_owned(),
            since: Instant::now(),
            n_bytes: 0,
            state: FileState::Pending,
        });
        self.make_room(&mut files, 0);
        Ok(PendingFile {
            store: self.clone(),
            id,
            key,
            slot,
        })
    }

    /// Takes a slot for a file of a caller.
    fn slot(&self, caller: u64) -> Result<Slot, ApiError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.strong_count() > 0);
        let callers = slots.iter().filter_map(Weak::upgrade);
        let n_of_caller = callers.filter(|id| **id == caller).count();
        if slots.len() >= self.limits.max_pending
            || n_of_caller >= self.limits.max_pending_of_caller
        {
            return Err(ApiError::Busy { retry_after: 10 });
        }
        let slot = Arc::new(caller);
        slots.push(Arc::downgrade(&slot));
        Ok(slot)
    }

    /// Removes the folder with all files, at the end of the server. Threads that still hold the store cannot store
    /// more.
    pub(crate) fn remove_folder(&self) {
        if let Some(folder) = self.folder.get() {
            let _ = fs::remove_dir_all(folder.path());
        }
    }

    /// Stores the translation of an accepted file.
    fn finish(&self, id: &str, bytes: &[u8], n_chars: usize) -> io::Result<()> {
        let n_bytes = bytes.len() as u64;
        if n_bytes > self.limits.max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let folder = match self.folder.get() {
            Some(folder) => folder,
            None => {
                let folder = PrivateFolder::new_in(&self.parent)?;
                self.folder.get_or_init(|| folder)
            }
        };
        let mut file = folder.make_file()?;
        file.write_all(bytes)?;
        let path = Arc::new(file.into_temp_path());
        let mut files = self.lock();
        self.make_room(&mut files, n_bytes);
        if let Some(file) = files.iter_mut().find(|file| file.id == id) {
            file.n_bytes = n_bytes;
            file.since = Instant::now();
            file.state = FileState::Ready {
                name: file.name.clone(),
                path,
                n_chars,
            };
        }
        Ok(())
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
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let max_age = self.limits.max_age;
        files.retain(|file| file.state.is_pending() || file.since.elapsed() < max_age);
        files
    }

    /// Removes the oldest files that are not pending until `n_bytes` more fit.
    fn make_room(&self, files: &mut VecDeque<StoredFile>, n_bytes: u64) {
        let mut n_stored: u64 = files.iter().map(|file| file.n_bytes).sum();
        while files.len() > self.limits.max_files || n_stored + n_bytes > self.limits.max_bytes {
            let oldest = files.iter().position(|file| !file.state.is_pending());
            let Some(file) = oldest.and_then(|at| files.remove(at)) else {
                return;
            };
            n_stored -= file.n_bytes;
        }
    }
}

impl PendingFile {
    /// Stores the translation.
    ///
    /// # Errors
    ///
    /// Returns [`ApiError::Internal`], with a line in the log, if it cannot be written, or is larger than the limit of
    /// all stored bytes.
    pub(crate) async fn finish(&self, bytes: Bytes, n_chars: usize) -> Result<(), ApiError> {
        let (store, id, slot) = (self.store.clone(), self.id.clone(), self.slot.clone());
        let finish = move || {
            let stored = store.finish(&id, &bytes, n_chars);
            drop(slot);
            stored
        };
        let stored = spawn_blocking(finish).await;
        stored.map_err(|_| ApiError::Internal)?.map_err(|error| {
            tracing::error!(%error, "a translated file cannot be stored");
            ApiError::Internal
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

/// Returns 128 random bits, as hexadecimal digits.
fn random_name() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Some systems have no source of randomness; this uses the seeds of the standard library's hashers.
        use std::hash::{BuildHasher, RandomState};
        let (low, high) = bytes.split_at_mut(8);
        low.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        high.copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn store(limits: FileLimits) -> (TempDir, Arc<FileStore>) {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let store = FileStore {
            limits,
            ..FileStore::new(parent.path().to_owned())
        };
        (parent, Arc::new(store))
    }

    fn stored(store: &Arc<FileStore>, bytes: &[u8]) -> String {
        let file = store.accept(1, "a.txt").expect("nothing is pending");
        let finished = store.finish(&file.id, bytes, 1);
        finished.expect("there is a temporary folder");
        file.id.clone()
    }

    fn content(store: &FileStore, id: &str) -> Option<Vec<u8>> {
        match store.state(id, None) {
            Some(FileState::Ready { path, .. }) => std::fs::read(path.as_ref()).ok(),
            _ => None,
        }
    }

    fn n_files(store: &FileStore) -> usize {
        let folder = store.folder.get().expect("a file was stored");
        let files = std::fs::read_dir(folder.path());
        files.expect("it is a folder").count()
    }

    #[test]
    fn a_file_is_pending_and_then_ready() {
        let (_parent, store) = store(FileLimits::default());
        let file = store.accept(1, "a.txt").expect("nothing is pending");
        let state = store.state(&file.id, Some(&file.key));
        assert!(state.is_some_and(|state| state.is_pending()));
        let finished = store.finish(&file.id, b"x", 1);
        finished.expect("there is a temporary folder");
        assert_eq!(content(&store, &file.id).as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn another_key_does_not_open_a_file() {
        let (_parent, store) = store(FileLimits::default());
        let file = store.accept(1, "a.txt").expect("nothing is pending");
        assert!(store.state(&file.id, Some("")).is_none());
    }

    #[test]
    fn the_oldest_file_goes_if_there_are_too_many() {
        let (_parent, store) = store(FileLimits {
            max_files: 2,
            ..FileLimits::default()
        });
        let ids = [b"a", b"b", b"c"].map(|bytes| stored(&store, bytes));
        let found = ids.each_ref().map(|id| content(&store, id).is_some());
        assert_eq!(found, [false, true, true]);
        assert_eq!(n_files(&store), 2);
    }

    #[test]
    fn the_oldest_file_goes_if_they_are_too_large() {
        let (_parent, store) = store(FileLimits {
            max_bytes: 5,
            ..FileLimits::default()
        });
        let ids = [b"aa", b"bb", b"cc"].map(|bytes| stored(&store, bytes));
        let found = ids.each_ref().map(|id| content(&store, id).is_some());
        assert_eq!(found, [false, true, true]);
    }

    #[test]
    fn a_file_that_is_too_old_is_removed() {
        let (_parent, store) = store(FileLimits {
            max_age: Duration::ZERO,
            ..FileLimits::default()
        });
        let id = stored(&store, b"a");
        assert!(store.state(&id, None).is_none());
        assert_eq!(n_files(&store), 0);
    }

    #[test]
    fn no_more_files_are_pending_than_allowed() {
        let (_parent, store) = store(FileLimits {
            max_pending: 1,
            ..FileLimits::default()
        });
        let file = store.accept(1, "a.txt").expect("nothing is pending");
        let refused = store.accept(2, "b.txt").expect_err("one is pending");
        assert!(refused.retry_after().is_some());
        let slot = file.slot.clone();
        drop(file);
        let refused = store.accept(2, "b.txt");
        assert!(refused.is_err(), "a thread still has the slot");
        drop(slot);
        assert!(store.accept(2, "b.txt").is_ok());
    }

    #[test]
    fn a_caller_takes_a_part_of_the_places_only() {
        let (_parent, store) = store(FileLimits {
            max_pending_of_caller: 1,
            ..FileLimits::default()
        });
        let _pending = store.accept(1, "a.txt").expect("nothing is pending");
        assert!(store.accept(1, "b.txt").is_err());
        assert!(store.accept(2, "b.txt").is_ok());
    }

    #[test]
    fn a_late_failure_is_seen() {
        let (_parent, store) = store(FileLimits {
            max_age: Duration::from_secs(1),
            ..FileLimits::default()
        });
        let file = store.accept(1, "a.txt").expect("nothing is pending");
        store.lock()[0].since -= Duration::from_secs(2);
        file.fail(&ApiError::Internal);
        let state = store.state(&file.id, None);
        assert!(matches!(state, Some(FileState::Failed(_))), "{state:?}");
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let (_parent, store) = store(FileLimits::default());
        drop(store.accept(1, "a.txt").expect("nothing is pending"));
        assert!(store.lock().is_empty());
    }

    #[test]
    fn the_folder_is_removed_with_the_store() {
        let (_parent, store) = store(FileLimits::default());
        stored(&store, b"a");
        let folder = store.folder.get().expect("a file was stored");
        let folder = folder.path().to_owned();
        drop(store);
        assert!(!folder.exists());
    }
}
