//! Atomic writes: a file appears under its name only when its whole content is on disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::DirectoryError;

/// Prefix of a file's name while it is being written.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// Creates a folder and its missing parents.
///
/// # Errors
///
/// Returns the error of the operating system, or that of [`check_link`].
pub fn create_folder(path: &Path) -> io::Result<()> {
    check_link(path)?;
    fs::create_dir_all(path)
}

/// Does work that writes into a folder. If it fails, and the folder was absent or empty before, everything written is
/// removed, so that the same work can be done again when there is room on the disk.
///
/// # Errors
///
/// Returns the error of the work.
pub fn undo_on_failure<T, E>(folder: &Path, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let is_absent = folder.symlink_metadata().is_err();
    let is_empty = || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let was_empty = !is_absent && is_empty();
    let done = work();
    if done.is_err() && is_absent {
        let _ = fs::remove_dir_all(folder);
    }
    if done.is_err() && was_empty {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
    }
    done
}

/// Checks that neither a path to write nor a folder above it is a link to a missing target.
///
/// For such a path the operating system says that it exists when something is created there, and that it does not when
/// it is read.
///
/// # Errors
///
/// Returns an error that names the target of the link.
pub fn check_link(path: &Path) -> io::Result<()> {
    for path in path.ancestors().take_while(|path| !path.exists()) {
        if let Ok(target) = fs::read_link(path) {
            let message = format!(
                "`{}` is a link to `{}`, which does not exist; create that, or give another path",
                path.display(),
                target.display()
            );
            return Err(io::Error::new(ErrorKind::NotFound, message));
        }
    }
    Ok(())
}

/// Writes or replaces the file `name` of a directory, atomically.
///
/// A kill at any moment leaves the old file or the new one, and at most one leftover with a name that starts with
/// `.unfinished-`.
///
/// # Errors
///
/// Returns the error of the operating system, for example if the directory does not exist or the disk is full.
pub fn replace_file(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = directory.join(format!("{UNFINISHED}{name}"));
    let replaced = write_and_rename(directory, &unfinished, &directory.join(name), content);
    if replaced.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    replaced
}

/// Calls [`replace_file`] for a file of a model or of a checkpoint.
///
/// # Errors
///
/// Returns [`DirectoryError::Write`] if the directory does not exist or the disk is full.
pub fn write_file(path: &Path, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
    replace_file(path, name, content).map_err(|source| DirectoryError::Write {
        path: path.join(name),
        source,
    })
}

fn write_and_rename(
    directory: &Path,
    unfinished: &Path,
    target: &Path,
    content: &[u8],
) -> io::Result<()> {
    let mut file = File::create(unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    fs::rename(unfinished, target)?;
    // Systems that cannot open or sync a directory make renames durable by themselves.
    match File::open(directory).map_or(Ok(()), |directory| directory.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a file and fails.
    fn fail(folder: &Path) -> io::Result<()> {
        undo_on_failure(folder, || {
            create_folder(folder)?;
            replace_file(folder, "config", b"new")?;
            Err(io::Error::other("the disk is full"))
        })
    }

    #[test]
    fn a_failure_leaves_an_absent_or_empty_folder_as_it_was() -> io::Result<()> {
        let above = tempfile::tempdir()?;
        let folder = above.path().join("out");
        assert!(fail(&folder).is_err());
        assert!(!folder.exists());
        fs::create_dir(&folder)?;
        assert!(fail(&folder).is_err());
        assert_eq!(fs::read_dir(&folder)?.count(), 0);
        Ok(())
    }

    #[test]
    fn a_failure_removes_nothing_from_a_folder_with_files() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("own"), "mine")?;
        assert!(fail(folder.path()).is_err());
        assert_eq!(fs::read(folder.path().join("own"))?, b"mine");
        Ok(())
    }
}
