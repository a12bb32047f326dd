//! Tests of [`FileStore`].

use tempfile::TempDir;

use super::*;

fn store(limits: FileLimits) -> (TempDir, Arc<FileStore>) {
    let parent = tempfile::tempdir().expect("the system has temporary directories");
    let store = FileStore::new(parent.path(), limits).expect("the folder is writable");
    (parent, Arc::new(store))
}

fn accept(store: &Arc<FileStore>, id: u64) -> Option<PendingFile> {
    let is_stranger = false;
    store.accept(Claimant { id, is_stranger }, &"request".into(), "a.txt")
}

fn translated(bytes: &[u8]) -> TranslatedFile {
    TranslatedFile {
        bytes: bytes.to_vec().into(),
        doubtful: Doubtful::default(),
    }
}

fn stored(store: &Arc<FileStore>, bytes: &[u8]) -> String {
    stored_by(store, 1, bytes)
}

fn stored_by(store: &Arc<FileStore>, caller: u64, bytes: &[u8]) -> String {
    let file = accept(store, caller).expect("nothing is pending");
    let finished = store.finish(&file.id, &translated(bytes), 1);
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
    let files = std::fs::read_dir(store.folder.path());
    files.expect("it is a folder").count()
}

#[test]
fn a_file_is_pending_and_then_ready() {
    let (_parent, store) = store(FileLimits::default());
    let file = accept(&store, 1).expect("nothing is pending");
    let state = store.state(&file.id, Some(&file.key));
    assert!(state.is_some_and(|state| state.is_pending()));
    assert_eq!(store.pending(), ["request".into()]);
    let finished = store.finish(&file.id, &translated(b"x"), 1);
    finished.expect("there is a temporary folder");
    assert_eq!(content(&store, &file.id).as_deref(), Some(&b"x"[..]));
    assert!(store.pending().is_empty());
}

#[test]
fn another_key_does_not_open_a_file() {
    let (_parent, store) = store(FileLimits::default());
    let file = accept(&store, 1).expect("nothing is pending");
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
fn a_caller_with_many_files_or_bytes_loses_its_own() {
    for (limits, bytes) in [((3, 1000), &b"x"[..]), ((1000, 30), &[0; 10][..])] {
        let (_parent, store) = store(FileLimits {
            max_files: limits.0,
            max_bytes: limits.1,
            ..FileLimits::default()
        });
        let of_other = stored_by(&store, 2, b"other");
        let ids = [(); 4].map(|()| stored(&store, bytes));
        assert!(content(&store, &of_other).is_some());
        let found = ids.each_ref().map(|id| content(&store, id).is_some());
        assert_eq!(found, [false, false, true, true]);
    }
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
    let file = accept(&store, 1).expect("nothing is pending");
    assert!(accept(&store, 2).is_none());
    let slot = file.slot.clone();
    drop(file);
    assert!(accept(&store, 2).is_none(), "a thread still has the slot");
    drop(slot);
    assert!(accept(&store, 2).is_some());
}

#[test]
fn a_caller_takes_a_part_of_the_places_only() {
    let (_parent, store) = store(FileLimits::default());
    let taken: Vec<PendingFile> = std::iter::from_fn(|| accept(&store, 1)).collect();
    assert_eq!((taken.len(), store.n_pending_of(1)), (32, 32));
    assert!(accept(&store, 2).is_some());
}

/// Writes like a disk of five bytes.
fn write_to_small_disk(folder: &PrivateFolder, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let files = fs::read_dir(folder.path())?.flatten();
    let used: u64 = files
        .map(|file| file.metadata().map_or(0, |it| it.len()))
        .sum();
    let room = usize::try_from(5 - used).unwrap_or(0);
    let mut file = folder.make_file()?;
    file.write_all(&bytes[..room.min(bytes.len())])?;
    match bytes.len() > room {
        true => Err(ErrorKind::StorageFull.into()),
        false => Ok(file),
    }
}

#[test]
fn on_a_full_disk_old_files_go_for_one_that_fits_then_and_nothing_partial_stays() {
    let parent = tempfile::tempdir().expect("the system has temporary directories");
    let new = FileStore::new(parent.path(), FileLimits::default());
    let store = Arc::new(FileStore {
        write: write_to_small_disk,
        ..new.expect("the folder is writable")
    });
    let ids = [b"aa", b"bb", b"cc"].map(|bytes| stored(&store, bytes));
    let found = ids.each_ref().map(|id| content(&store, id).is_some());
    assert_eq!(found, [false, true, true]);
    let file = accept(&store, 1).expect("nothing is pending");
    let error = store.finish(&file.id, &translated(b"dddddd"), 1);
    assert!(error.is_err_and(|error| is_full(&error)));
    assert_eq!(n_files(&store), 2);
    let large = stored(&store, b"eeee");
    assert_eq!(
        (content(&store, &large).is_some(), n_files(&store)),
        (true, 1)
    );
}

#[test]
fn a_store_needs_a_folder() {
    let parent = tempfile::tempdir().expect("the system has temporary directories");
    let missing = parent.path().join("missing");
    assert!(FileStore::new(&missing, FileLimits::default()).is_err());
}

#[test]
fn a_late_failure_is_seen() {
    let (_parent, store) = store(FileLimits {
        max_age: Duration::from_secs(1),
        ..FileLimits::default()
    });
    let file = accept(&store, 1).expect("nothing is pending");
    store.lock()[0].since -= Duration::from_secs(2);
    file.fail(&ApiError::Internal);
    let state = store.state(&file.id, None);
    assert!(matches!(state, Some(FileState::Failed(_))), "{state:?}");
}

#[test]
fn a_file_that_is_given_up_leaves_nothing() {
    let (_parent, store) = store(FileLimits::default());
    drop(accept(&store, 1).expect("nothing is pending"));
    assert!(store.lock().is_empty());
}

#[test]
fn the_folder_is_removed_with_the_store() {
    let (_parent, store) = store(FileLimits::default());
    stored(&store, b"a");
    let folder = store.folder.path().to_owned();
    drop(store);
    assert!(!folder.exists());
}
