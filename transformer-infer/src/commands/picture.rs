//! The output file of `attention`: a page, a figure or data, according to its extension.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use transformer_infer::attention::GENERATOR;

use super::output_path::folder_of;
use super::{OutputPathError, check_file};

/// Files of this command contain the name of their generator within this many bytes.
const HEAD_BYTES: u64 = 2048;

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// An HTML page.
    Html,
    /// An SVG figure.
    Svg,
    /// All weights as JSON.
    Json,
}

/// The file to write.
#[derive(Debug)]
pub(super) struct Picture {
    path: PathBuf,
    pub(super) format: Format,
}

/// The reason why the file cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    /// The extension is not known.
    #[error(
        "`{path}` has no known extension; use .html for a page, .svg for a figure or .json for data"
    )]
    Ending { path: PathBuf },
    /// The file exists, and another program wrote it.
    #[error(
        "`{path}` exists and was not written by this command; remove it, or choose another name"
    )]
    Foreign { path: PathBuf },
    /// The path is a folder or a device.
    #[error("`{path}` is not a file; choose another name")]
    NotAFile { path: PathBuf },
    /// The path cannot be used.
    #[error(transparent)]
    OutputPath(#[from] OutputPathError),
    /// The file cannot be read or written.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

impl Picture {
    /// Checks that the file can be written: it does not exist, or this command wrote it.
    pub(super) fn new(path: &Path) -> Result<Self, PictureError> {
        let path = path.to_owned();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let format = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("html" | "htm") => Format::Html,
            Some("svg") => Format::Svg,
            Some("json") => Format::Json,
            _ => return Err(PictureError::Ending { path }),
        };
        match is_replaceable(&path) {
            Ok(true) => {}
            Ok(false) => return Err(PictureError::Foreign { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if path.exists() && !path.is_file() => {
                return Err(PictureError::NotAFile { path });
            }
            Err(source) => return Err(PictureError::Write { path, source }),
        }
        check_file(&path)?;
        Ok(Self { path, format })
    }

    /// Writes the file atomically: if the process is killed, either the old or the new file remains.
    pub(super) fn write(&self, content: &str) -> Result<(), PictureError> {
        let Self { path, .. } = self;
        replace(path, content).map_err(|source| PictureError::Write {
            path: path.clone(),
            source,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns whether a file is empty or was written by this command.
fn is_replaceable(path: &Path) -> io::Result<bool> {
    if fs::metadata(path)?.is_file() {
        let mut head = Vec::new();
        File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(head.is_empty() || String::from_utf8_lossy(&head).contains(GENERATOR))
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

fn replace(path: &Path, content: &str) -> io::Result<()> {
    // The target of a symbolic link is replaced, and the link stays.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = unfinished(&target)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&target)?;
    Ok(())
}

/// Creates a temporary file beside the target, which replaces it when it is complete.
pub(crate) fn unfinished(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unfinished-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual permissions of a new file, restricted by the umask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("the system has temporary directories")
    }

    #[test]
    fn the_extension_decides_the_format() {
        let folder = folder();
        let format = |name: &str| {
            Picture::new(&folder.path().join(name))
                .map(|it| it.format)
                .ok()
        };
        assert_eq!(format("a.html"), Some(Format::Html));
        assert_eq!(format("a.b.SVG"), Some(Format::Svg));
        assert_eq!(format("a.json"), Some(Format::Json));
        assert_eq!(format("a.png"), None);
        assert_eq!(format("html"), None);
    }

    #[test]
    fn a_file_of_this_command_is_replaced() {
        let folder = folder();
        let path = folder.path().join("a.svg");
        for content in [format!("<!-- {GENERATOR} --> old"), "new".to_owned()] {
            let picture = Picture::new(&path).expect("the file is missing or of this command");
            picture.write(&content).expect("the folder is writable");
            assert_eq!(fs::read_to_string(&path).expect("it was written"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn a_file_of_another_program_is_kept() {
        let folder = folder();
        let path = folder.path().join("thesis.html");
        fs::write(&path, "<p>months of work").expect("the folder is writable");
        let error = Picture::new(&path).expect_err("another program wrote the file");
        assert!(matches!(error, PictureError::Foreign { .. }), "{error}");
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = folder();
        let path = folder.path().join("a.html");
        fs::create_dir(&path).expect("the folder is writable");
        let error = Picture::new(&path).expect_err("a folder is in the way");
        assert!(matches!(error, PictureError::NotAFile { .. }), "{error}");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = folder();
        let error = Picture::new(&folder.path().join("no/a.html")).expect_err("there is no folder");
        assert!(error.to_string().contains("no` does not exist"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_has_the_usual_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let (written, usual) = (folder.path().join("a.svg"), folder.path().join("b"));
        let picture = Picture::new(&written).expect("there is no file yet");
        picture.write("").expect("the folder is writable");
        fs::write(&usual, "").expect("the folder is writable");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&written), mode(&usual));
    }
}
