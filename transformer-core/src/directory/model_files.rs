//! [`ModelFiles`]: where the files of a model are read from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::regular_file;

/// The folder of [`ModelFiles::Memory`] in errors.
const IN_MEMORY: &str = "(memory)";

/// The files of a model: in a folder, or in memory.
///
/// Paths convert to it, and so does a map of contents by name, from `include_bytes!` for example.
///
/// # Example
///
/// ```
/// use std::borrow::Cow;
/// use transformer_core::directory::{ModelDirectory, ModelFiles};
///
/// let files = ModelFiles::from_iter([("manifest.json".to_owned(), Cow::Borrowed(&b"{}"[..]))]);
/// let error = ModelDirectory::open(files).expect_err("the manifest names no files");
/// assert!(error.to_string().contains("manifest.json"));
/// ```
#[derive(Clone)]
pub enum ModelFiles {
    /// A folder, or for some formats a file.
    Path(PathBuf),
    /// Contents by name.
    Memory(Arc<BTreeMap<String, Cow<'static, [u8]>>>),
    /// Contents by name, of which a model directory takes each when it reads it: they need no memory beside the model. To
    /// open or load the model a second time, give the files again.
    Once(Arc<Mutex<BTreeMap<String, OnceFile>>>),
}

/// A file of [`ModelFiles::Once`].
#[derive(Clone, Debug)]
pub struct OnceFile {
    /// The content.
    pub content: Vec<u8>,
    /// The SHA-256 of the content, as 64 hexadecimal digits, if it is known.
    pub sha256: Option<String>,
}

impl ModelFiles {
    /// Returns the path of the folder; for files in memory, a name for errors.
    pub fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Memory(_) | Self::Once(_) => Path::new(IN_MEMORY),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Path(folder) => folder.join(name).exists(),
            Self::Memory(files) => files.contains_key(name),
            Self::Once(files) => locked(files).contains_key(name),
        }
    }

    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = match self {
            Self::Memory(files) => files.keys().cloned().collect(),
            Self::Once(files) => locked(files).keys().cloned().collect(),
            Self::Path(folder) => {
                let name = |entry: io::Result<fs::DirEntry>| {
                    Ok(entry?.file_name().to_string_lossy().into_owned())
                };
                fs::read_dir(folder)?
                    .map(name)
                    .collect::<io::Result<Vec<_>>>()?
            }
        };
        names.sort();
        Ok(names)
    }

    pub(crate) fn read(&self, name: &str, max_bytes: u64) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::Path(folder) => regular_file::read(&folder.join(name), max_bytes).map(Cow::Owned),
            Self::Memory(files) => {
                let content = files.get(name).map(|content| Cow::Borrowed(&content[..]));
                limited(content, max_bytes)
            }
            Self::Once(files) => {
                let files = locked(files);
                let content = files.get(name).map(|it| Cow::Owned(it.content.clone()));
                limited(content, max_bytes)
            }
        }
    }

    pub(crate) fn take(&self, name: &str) -> Option<OnceFile> {
        match self {
            Self::Path(_) | Self::Memory(_) => None,
            Self::Once(files) => locked(files).remove(name),
        }
    }

    pub(crate) fn put_back(&self, name: &str, file: OnceFile) {
        if let Self::Once(files) = self {
            locked(files).insert(name.to_owned(), file);
        }
    }
}

fn locked(files: &Mutex<BTreeMap<String, OnceFile>>) -> MutexGuard<'_, BTreeMap<String, OnceFile>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

fn limited(content: Option<Cow<'_, [u8]>>, max_bytes: u64) -> io::Result<Cow<'_, [u8]>> {
    match content {
        None => Err(ErrorKind::NotFound.into()),
        Some(content) if content.len() as u64 > max_bytes => {
            Err(regular_file::too_large(max_bytes))
        }
        Some(content) => Ok(content),
    }
}

impl<P: AsRef<Path>> From<P> for ModelFiles {
    fn from(path: P) -> Self {
        Self::Path(path.as_ref().to_owned())
    }
}

impl FromIterator<(String, OnceFile)> for ModelFiles {
    fn from_iter<I: IntoIterator<Item = (String, OnceFile)>>(files: I) -> Self {
        Self::Once(Arc::new(Mutex::new(files.into_iter().collect())))
    }
}

impl FromIterator<(String, Cow<'static, [u8]>)> for ModelFiles {
    fn from_iter<I: IntoIterator<Item = (String, Cow<'static, [u8]>)>>(files: I) -> Self {
        Self::Memory(Arc::new(files.into_iter().collect()))
    }
}

impl fmt::Debug for ModelFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::Memory(files) => f.debug_set().entries(files.keys()).finish(),
            Self::Once(files) => f.debug_set().entries(locked(files).keys()).finish(),
        }
    }
}
