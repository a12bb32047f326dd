//! Checks of output paths, before the work; and [`Replacement`], a file that replaces another one.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use transformer_core::directory::{belongs_to_a_run, check_link};

#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputPathError {
    #[error("`{path}` is a file; give --out a folder")]
    IsFile { path: PathBuf },
    #[error("`{path}` is a folder; give --out a file")]
    IsFolder { path: PathBuf },
    #[error("the folder `{}` does not exist; create it first", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("`{path}` is a folder of a training run; choose another folder")]
    Run { path: PathBuf },
    #[error("`{path}` is not empty; choose another folder, or replace its files with --overwrite")]
    NotEmpty { path: PathBuf },
    #[error("`{path}` is not a regular file; leave --out out, and redirect standard output to it")]
    NotAFile { path: PathBuf },
    #[error("`{path}` exists; choose another name, or replace it with --overwrite")]
    Exists { path: PathBuf },
    #[error("cannot write `{path}`")]
    Link {
        path: PathBuf,
        /// The error, which names the target of the link.
        source: io::Error,
    },
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

fn folder_of(path: &Path) -> &Path {
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

/// A file under another name beside its target, which it replaces when it is complete: if the process is killed, either
/// the old or the new file remains.
#[derive(Debug)]
pub(crate) struct Replacement {
    pub(crate) output: BufWriter<NamedTempFile>,
    /// The target of a symbolic link is replaced, and the link stays.
    target: PathBuf,
}

impl Replacement {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".unfinished-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The usual permissions of a new file, restricted by the umask.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder_of(&target))?;
        let output = BufWriter::new(file);
        Ok(Self { output, target })
    }

    /// Takes the permissions of the file that is replaced, if there is one.
    pub(crate) fn keep_permissions(&self) -> io::Result<()> {
        match fs::metadata(&self.target) {
            Ok(replaced) => {
                let file = self.output.get_ref().as_file();
                file.set_permissions(replaced.permissions())
            }
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        let file = self.output.into_inner()?;
        file.as_file().sync_all()?;
        file.persist(self.target)?;
        Ok(())
    }
}
