//! Where a command may write: told before its work and not after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::run_folder::belongs_to_a_run;

/// Says why nothing may be written there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    /// A folder is wanted, and there is a file.
    #[error("`{}` is a file; give --out a folder", path.display())]
    IsFile {
        /// The path that was given.
        path: PathBuf,
    },
    /// A file is wanted, and there is a folder.
    #[error("`{}` is a folder; give --out a file", path.display())]
    IsFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The folder to write a file into is not there.
    #[error("the folder `{}` does not exist; create it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder belongs to a training run.
    #[error("`{}` is a folder of a training run; choose another folder", path.display())]
    Run {
        /// The path that was given.
        path: PathBuf,
    },
    /// The folder has files, which may be worth something.
    #[error(
        "`{}` is not empty; choose another folder, or have files in it replaced with --overwrite",
        path.display()
    )]
    NotEmpty {
        /// The path that was given.
        path: PathBuf,
    },
    /// The folder cannot be looked into.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Checks that a file may be written there, if it is not something else than a file.
pub(crate) fn check_file(path: &Path) -> Result<(), PlaceError> {
    if path.is_dir() {
        let path = path.to_owned();
        return Err(PlaceError::IsFolder { path });
    }
    match folder_of(path) {
        folder if folder.is_dir() => Ok(()),
        folder => {
            let folder = folder.to_owned();
            Err(PlaceError::NoFolder { folder })
        }
    }
}

/// Returns the folder that a file is in, or would be.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Checks that a folder may be filled: it is not there, or empty, or `overwrites` says that its files are worth
/// nothing. Those of a training run are never filled.
pub(crate) fn check_folder(path: &Path, overwrites: bool) -> Result<(), PlaceError> {
    let path = path.to_owned();
    if belongs_to_a_run(&path) {
        return Err(PlaceError::Run { path });
    }
    if let Some(there) = path.ancestors().find(|path| path.exists())
        && !there.is_dir()
    {
        let path = there.to_owned();
        return Err(PlaceError::IsFile { path });
    }
    match fs::read_dir(&path) {
        Ok(mut entries) => match overwrites || entries.next().is_none() {
            true => Ok(()),
            false => Err(PlaceError::NotEmpty { path }),
        },
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(PlaceError::Read { path, source }),
    }
}
