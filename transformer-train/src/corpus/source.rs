//! Where parallel text lies.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::corpus::CorpusError;

/// Something that can be read from its start as often as needed.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    File(PathBuf),
    Held(Arc<[u8]>),
}

impl Input {
    /// Prepares a path. Standard input and pipes can be read once only, so they are read now and held
    /// in memory as they came.
    pub(super) fn new(path: &Path, stdin: &mut dyn Read) -> Result<Self, CorpusError> {
        let standard_input = path == Path::new("-");
        let name = match standard_input {
            true => "standard input".to_owned(),
            false => format!("`{}`", path.display()),
        };
        let cannot_open = |source| CorpusError::Open {
            file: name.clone(),
            source,
        };
        if standard_input {
            let content = hold(stdin).map_err(cannot_open)?;
            return Ok(Self { name, content });
        }
        let metadata = path.metadata().map_err(cannot_open)?;
        if metadata.is_dir() {
            return Err(cannot_open(io::ErrorKind::IsADirectory.into()));
        }
        let mut file = File::open(path).map_err(cannot_open)?;
        let content = match metadata.is_file() {
            true => Content::File(path.to_owned()),
            false => hold(&mut file).map_err(cannot_open)?,
        };
        Ok(Self { name, content })
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.content {
            Content::File(path) => Box::new(File::open(path)?),
            Content::Held(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        })
    }
}

fn hold(reader: &mut dyn Read) -> io::Result<Content> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok(Content::Held(bytes.into()))
}
