//! Checks of output paths, before the work.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use transformer_core::directory::{belongs_to_a_run, check_link};

/// The reason why an output path cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputPathError {
    /// The path of a folder is a file.
    #[error("`{path}` is a file; give --out a folder")]
    IsFile { path: PathBuf },
    /// The path of a file is a folder.
    #[error("`{path}` is a folder; give --out a file")]
    IsFolder { path: PathBuf },
    /// The folder of a file does not exist.
    #[error("the folder `{}` does not exist; create it first", folder.display())]
    NoFolder { folder: PathBuf },
    /// The folder belongs to a training run.
    #[error("`{path}` is a folder of a training run; choose another folder")]
    Run { path: PathBuf },
    /// The folder has files, which could be lost.
    #[error("`{path}` is not empty; choose another folder, or replace its files with --overwrite")]
    NotEmpty { path: PathBuf },
    /// The path is a pipe or a device.
    #[error("`{path}` is not a regular file; leave --out out, and redirect standard output to it")]
    NotAFile { path: PathBuf },
    /// The file has content, which could be lost.
    #[error("`{path}` exists; choose another name, or replace it with --overwrite")]
    Exists { path: PathBuf },
    /// The path is a link to a missing target.
    #[error("cannot write `{path}`")]
    Link {
        path: PathBuf,
        /// The error, which names the target of the link.
        source: io::Error,
    },
    /// The folder cannot be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
}

/// Checks that a file can be written: the path is not a folder, and its folder exists.
pub(crate) fn check_file(path: &Path) -> Result<(), OutputPathError> {
    if path.is_dir() {
        let path = path.to_owned();
        return Err(OutputPathError::IsFolder { path });
    }
    refuse_dangling(path)?;
    match folder_of(path) {
        folder if folder.is_dir() => Ok(()),
        folder => {
            let folder = folder.to_owned();
            Err(OutputPathError::NoFolder { folder })
        }
    }
}

fn refuse_dangling(path: &Path) -> Result<(), OutputPathError> {
    check_link(path).map_err(|source| OutputPathError::Link {
        path: path.to_owned(),
        source,
    })
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Checks that files can be written into a folder: it does not exist, is empty, or may be overwritten. The folder of a
/// training run is always refused.
pub(crate) fn check_folder(path: &Path, overwrites: bool) -> Result<(), OutputPathError> {
    let path = path.to_owned();
    if belongs_to_a_run(&path) {
        return Err(OutputPathError::Run { path });
    }
    refuse_dangling(&path)?;
    if let Some(ancestor) = path.ancestors().find(|path| path.exists())
        && !ancestor.is_dir()
    {
        let path = ancestor.to_owned();
        return Err(OutputPathError::IsFile { path });
    }
    match fs::read_dir(&path) {
        Ok(mut entries) => match overwrites || entries.next().is_none() {
            true => Ok(()),
            false => Err(OutputPathError::NotEmpty { path }),
        },
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(OutputPathError::Read { path, source }),
    }
}
