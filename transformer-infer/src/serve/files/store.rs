//! [`FileStore`]: keeps translated files in a temporary folder; bounded in number, size and age.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;
use tempfile::TempDir;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimits {
    /// Most files, those that are being translated included.
    max_files: usize,
    /// Most files that are being translated.
    max_pending: usize,
    /// Most bytes of all files.
    max_bytes: u64,
    /// How long a file is kept after it was translated.
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
/// A file that is too old is removed at the next call. If there are too many, or too many bytes, the oldest ones go first.
#[derive(Debug, Default)]
pub(crate) struct FileStore {
    limits: FileLimits,
    /// Made for the first file.
    folder: OnceLock<TempDir>,
    /// The oldest first.
    files: Mutex<VecDeque<StoredFile>>,
}

/// The files that are being translated are as many as allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilesFull;

/// A file that was announced.
#[derive(Debug)]
struct StoredFile {
    id: String,
    /// What the client must show to get it, in interfaces that have such keys.
    key: String,
    name: String,
    since: Instant,
    n_bytes: u64,
    state: FileState,
}

/// How far a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    /// It is being translated.
    Pending,
    /// It is ready.
    Ready {
        /// Name for the client.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// Number of characters of its source.
        n_chars: usize,
    },
    /// It could not be translated, for this reason.
    Failed(String),
}

impl FileStore {
    /// Announces a file, which clients will call by `name`, and returns its id and its key: nobody can guess them.
    pub(crate) fn announce(&self, name: &str) -> Result<(String, String), FilesFull> {
        let mut files = self.lock();
        let is_pending = |file: &&StoredFile| file.state == FileState::Pending;
        if files.iter().filter(is_pending).count() >= self.limits.max_pending {
            return Err(FilesFull);
        }
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
        Ok((id, key))
    }

    /// Stores a file that was announced.
    ///
    /// # Errors
    ///
    /// Returns the system's error if it cannot be written, or is larger than everything that may be stored.
    pub(crate) fn finish(&self, id: &str, bytes: &[u8], n_chars: usize) -> io::Result<()> {
        let n_bytes = bytes.len() as u64;
        if n_bytes > self.limits.max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let folder = match self.folder.get() {
            Some(folder) => folder,
            None => {
                let folder = tempfile::Builder::new()
                    .prefix("transformer-infer-")
                    .tempdir()?;
                self.folder.get_or_init(|| folder)
            }
        };
        let path = folder.path().join(id);
        std::fs::write(&path, bytes)?;
        let mut files = self.lock();
        self.make_room(&mut files, n_bytes);
        match files.iter_mut().find(|file| file.id == id) {
            Some(file) => {
                file.n_bytes = n_bytes;
                file.since = Instant::now();
                let name = file.name.clone();
                file.state = FileState::Ready {
                    name,
                    path,
                    n_chars,
                };
                Ok(())
            }
            // It was too old.
            None => std::fs::remove_file(path),
        }
    }

    /// Says why a file that was announced will not come.
    pub(crate) fn fail(&self, id: &str, reason: String) {
        if let Some(file) = self.lock().iter_mut().find(|file| file.id == id) {
            file.state = FileState::Failed(reason);
        }
    }

    /// Returns how far a file is; `None` if there is none of this id and, if one is given, this key.
    pub(crate) fn state(&self, id: &str, key: Option<&str>) -> Option<FileState> {
        let files = self.lock();
        let has_key =
            |file: &StoredFile, key: &str| bool::from(file.key.as_bytes().ct_eq(key.as_bytes()));
        let is_it = |file: &&StoredFile| file.id == id && key.is_none_or(|key| has_key(file, key));
        files.iter().find(is_it).map(|file| file.state.clone())
    }

    /// Removes what is too old, and returns the files.
    fn lock(&self) -> MutexGuard<'_, VecDeque<StoredFile>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|file| {
            let is_kept =
                file.state == FileState::Pending || file.since.elapsed() < self.limits.max_age;
            if !is_kept {
                file.remove();
            }
            is_kept
        });
        files
    }

    /// Removes the oldest files that are not pending until so many bytes more fit.
    fn make_room(&self, files: &mut VecDeque<StoredFile>, n_bytes: u64) {
        let mut n_stored: u64 = files.iter().map(|file| file.n_bytes).sum();
        while files.len() > self.limits.max_files || n_stored + n_bytes > self.limits.max_bytes {
            let is_removable = |file: &StoredFile| file.state != FileState::Pending;
            let Some(file) = files
                .iter()
                .position(is_removable)
                .and_then(|at| files.remove(at))
            else {
                return;
            };
            file.remove();
            n_stored -= file.n_bytes;
        }
    }
}

impl StoredFile {
    fn remove(&self) {
        if let FileState::Ready { path, .. } = &self.state {
            // Nothing can be done about a file that cannot be removed; its folder is, when the server ends.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns 128 random bits, as hexadecimal digits.
fn random_name() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // There is a system without randomness: hashers are seeded with what it has.
        use std::hash::{BuildHasher, RandomState};
        let (low, high) = bytes.split_at_mut(8);
        low.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        high.copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(limits: FileLimits) -> FileStore {
        FileStore {
            limits,
            ..FileStore::default()
        }
    }

    fn stored(store: &FileStore, bytes: &[u8]) -> String {
        let (id, _) = store.announce("a.txt").expect("nothing is pending");
        store
            .finish(&id, bytes, 1)
            .expect("there is a temporary folder");
        id
    }

    fn content(store: &FileStore, id: &str) -> Option<Vec<u8>> {
        match store.state(id, None) {
            Some(FileState::Ready { path, .. }) => std::fs::read(path).ok(),
            _ => None,
        }
    }

    #[test]
    fn a_file_is_pending_and_then_ready() {
        let store = FileStore::default();
        let (id, key) = store.announce("a.txt").expect("nothing is pending");
        assert_eq!(store.state(&id, Some(&key)), Some(FileState::Pending));
        store
            .finish(&id, b"x", 1)
            .expect("there is a temporary folder");
        assert_eq!(content(&store, &id).as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn another_key_does_not_open_a_file() {
        let store = FileStore::default();
        let (id, _) = store.announce("a.txt").expect("nothing is pending");
        assert_eq!(store.state(&id, Some("")), None);
    }

    #[test]
    fn the_oldest_file_goes_if_there_are_too_many() {
        let store = store(FileLimits {
            max_files: 2,
            ..FileLimits::default()
        });
        let ids = [b"a", b"b", b"c"].map(|bytes| stored(&store, bytes));
        let found = ids.each_ref().map(|id| content(&store, id).is_some());
        assert_eq!(found, [false, true, true]);
    }

    #[test]
    fn the_oldest_file_goes_if_they_are_too_large() {
        let store = store(FileLimits {
            max_bytes: 5,
            ..FileLimits::default()
        });
        let ids = [b"aa", b"bb", b"cc"].map(|bytes| stored(&store, bytes));
        let found = ids.each_ref().map(|id| content(&store, id).is_some());
        assert_eq!(found, [false, true, true]);
    }

    #[test]
    fn a_file_that_is_too_old_is_removed() {
        let store = store(FileLimits {
            max_age: Duration::ZERO,
            ..FileLimits::default()
        });
        let id = stored(&store, b"a");
        assert_eq!(store.state(&id, None), None);
        let folder = store.folder.get().expect("a file was stored");
        assert_eq!(
            std::fs::read_dir(folder.path())
                .expect("it is a folder")
                .count(),
            0
        );
    }

    #[test]
    fn no_more_files_are_pending_than_allowed() {
        let store = store(FileLimits {
            max_pending: 1,
            ..FileLimits::default()
        });
        let (id, _) = store.announce("a.txt").expect("nothing is pending");
        assert_eq!(store.announce("b.txt"), Err(FilesFull));
        store.fail(&id, "it is broken".to_owned());
        assert!(store.announce("c.txt").is_ok());
    }

    #[test]
    fn the_folder_is_removed_with_the_store() {
        let store = FileStore::default();
        stored(&store, b"a");
        let folder = store
            .folder
            .get()
            .expect("a file was stored")
            .path()
            .to_owned();
        drop(store);
        assert!(!folder.exists());
    }
}
