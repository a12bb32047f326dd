//! The file that `attention` writes: by its ending a page, a figure or data.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use transformer_infer::attention::GENERATOR;

use super::output_path::folder_of;
use super::{PlaceError, check_file};

/// A file of ours names its maker within so many bytes.
const HEAD_BYTES: u64 = 2048;

/// Says what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A page for a browser.
    Html,
    /// A figure.
    Svg,
    /// All weights as data.
    Json,
}

/// Names the file to write.
#[derive(Debug)]
pub(super) struct Picture {
    path: PathBuf,
    pub(super) format: Format,
}

/// Says why the file cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    /// The ending says nothing.
    #[error(
        "`{}` does not say what to write; let its name end in .html for a page, .svg for a figure or \
         .json for data",
        path.display()
    )]
    Ending {
        /// The path that was given.
        path: PathBuf,
    },
    /// There is a file that somebody else wrote.
    #[error(
        "`{}` is there already and was not written by this command; remove it, or choose another name",
        path.display()
    )]
    Foreign {
        /// The path that was given.
        path: PathBuf,
    },
    /// There is a folder or a device of this name.
    #[error("`{}` is no file; choose another name", path.display())]
    NotAFile {
        /// The path that was given.
        path: PathBuf,
    },
    /// Nothing may be written there.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The file cannot be read or written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Picture {
    /// Checks that the file may be written: there is none of its name, or an older one of this command.
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

    /// Writes the file; a kill at any moment leaves the old one or the new one.
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

/// Says whether a file is empty, or names its maker as ours do.
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
    // A link stays a link, and the file it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = unfinished(&target)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&target)?;
    Ok(())
}

/// Makes a file beside the target that can take its place when it is whole.
pub(crate) fn unfinished(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unfinished-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As other programs create files: the user's umask takes from it.
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
    fn the_ending_says_what_is_written() {
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
            let picture = Picture::new(&path).expect("the file is ours or missing");
            picture.write(&content).expect("the folder is writable");
            assert_eq!(fs::read_to_string(&path).expect("it was written"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn a_file_of_somebody_else_is_kept() {
        let folder = folder();
        let path = folder.path().join("thesis.html");
        fs::write(&path, "<p>months of work").expect("the folder is writable");
        let error = Picture::new(&path).expect_err("the file is not ours");
        assert!(matches!(error, PictureError::Foreign { .. }), "{error}");
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = folder();
        let path = folder.path().join("a.html");
        fs::create_dir(&path).expect("the folder is writable");
        let error = Picture::new(&path).expect_err("a folder is in the way");
        assert!(matches!(error, PictureError::NotAFile { .. }), "{error}");
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let folder = folder();
        let error = Picture::new(&folder.path().join("no/a.html")).expect_err("there is no folder");
        assert!(error.to_string().contains("no` does not exist"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let (ours, theirs) = (folder.path().join("a.svg"), folder.path().join("b"));
        let picture = Picture::new(&ours).expect("there is no file yet");
        picture.write("").expect("the folder is writable");
        fs::write(&theirs, "").expect("the folder is writable");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&ours), mode(&theirs));
    }
}
