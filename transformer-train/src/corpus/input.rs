//! [`Input`]: a file of text, or standard input, that can be read several times.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use transformer_core::lines::{LineError, LineReader, STANDARD_INPUT};

use crate::corpus::CorpusError;

/// Lines of one input.
pub(super) type Lines = LineReader<Box<dyn Read + Send>>;

/// A file of text, or standard input, that can be read several times.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// The name in messages: the path in backquotes, or `standard input`.
    pub(super) name: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    File(PathBuf),
    Buffered(Arc<[u8]>),
}

impl Input {
    /// Prepares a path. Standard input and pipes can be read only once, so they are read now and
    /// buffered in memory as they are: gzip stays compressed.
    pub(super) fn new(path: &Path, stdin: &mut dyn Read) -> Result<Self, CorpusError> {
        let is_stdin = path == Path::new("-");
        let name = match is_stdin {
            true => STANDARD_INPUT.to_owned(),
            false => format!("`{}`", path.display()),
        };
        let cannot_open = |error| LineError::Open {
            name: name.clone(),
            error,
        };
        if is_stdin {
            let content = buffered(stdin).map_err(cannot_open)?;
            return Ok(Self { name, content });
        }
        let metadata = path.metadata().map_err(cannot_open)?;
        if metadata.is_dir() {
            return Err(cannot_open(io::ErrorKind::IsADirectory.into()).into());
        }
        let mut file = File::open(path).map_err(cannot_open)?;
        let content = match metadata.is_file() {
            true => Content::File(path.to_owned()),
            false => buffered(&mut file).map_err(cannot_open)?,
        };
        Ok(Self { name, content })
    }

    /// Returns the lines from the beginning.
    pub(super) fn lines(&self) -> Result<Lines, CorpusError> {
        let name = self.name.clone();
        let reader: Box<dyn Read + Send> = match &self.content {
            Content::File(path) => match File::open(path) {
                Ok(file) => Box::new(file),
                Err(error) => return Err(LineError::Open { name, error }.into()),
            },
            Content::Buffered(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        };
        Ok(LineReader::new(name, reader)?)
    }
}

fn buffered(reader: &mut dyn Read) -> io::Result<Content> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok(Content::Buffered(bytes.into()))
}
