//! Atomic writes: a file appears under its name only when its whole content is on disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::DirectoryError;

/// Prefix of a file's name while it is being written.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// Creates a folder and those above it, if they do not exist.
///
/// # Errors
///
/// Returns the system's error, or that of [`check_link`].
pub fn create_folder(path: &Path) -> io::Result<()> {
    check_link(path)?;
    fs::create_dir_all(path)
}

/// Checks that neither a path to write nor a folder above it is a link to something that does not exist.
///
/// The system says of such a path that it exists when something is to be created there, and that it does not when it is
/// to be read.
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
/// A kill at any moment leaves the old file or the new one, and at most one leftover whose name starts
/// with `.unfinished-`.
///
/// # Errors
///
/// Returns the system's error, for example if the directory does not exist or the disk is full.
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
