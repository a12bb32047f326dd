//! [`Input`]: a file of text, or standard input, that can be read several times.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use transformer_core::lines::{LineError, LineReader, STANDARD_INPUT};

use crate::config::{LineLimit, LongLines};
use crate::error::TrainError;

/// Maximum size of text that is buffered because it can be read only once, in bytes.
const MAX_BUFFERED_BYTES: usize = 1 << 30;

const REMEDY: &str = "check that it is a text file, and split the line, raise \
                      `data.max_line_bytes`, or set `data.long_lines` to `drop`";

pub(super) type Lines = LineReader<Box<dyn Read + Send>>;

#[derive(Clone, Debug)]
pub(super) struct Input {
    /// The name in messages: the path in backquotes, or `standard input`.
    pub(super) name: String,
    content: Content,
    limit: LineLimit,
}

#[derive(Clone, Debug)]
enum Content {
    File(PathBuf),
    Buffered(Arc<[u8]>),
}

impl Input {
    /// Prepares a path. Standard input and pipes can be read only once, so they are read now and
    /// buffered in memory as they are: gzip stays compressed.
    pub(super) fn new(
        path: &Path,
        limit: LineLimit,
        stdin: &mut dyn Read,
    ) -> Result<Self, TrainError> {
        let is_stdin = path == Path::new("-");
        let name = match is_stdin {
            true => STANDARD_INPUT.to_owned(),
            false => format!("`{}`", path.display()),
        };
        let cannot_open = |error| LineError::Open {
            name: name.clone(),
            error,
        };
        let content = if is_stdin {
            buffered(&name, limit, stdin)?
        } else {
            let metadata = path.metadata().map_err(cannot_open)?;
            if metadata.is_dir() {
                return Err(cannot_open(io::ErrorKind::IsADirectory.into()).into());
            }
            let mut file = File::open(path).map_err(cannot_open)?;
            match metadata.is_file() {
                true => Content::File(path.to_owned()),
                false => buffered(&name, limit, &mut file)?,
            }
        };
        Ok(Self {
            name,
            content,
            limit,
        })
    }

    pub(super) fn lines(&self) -> Result<Lines, TrainError> {
        let name = self.name.clone();
        let reader: Box<dyn Read + Send> = match &self.content {
            Content::File(path) => match File::open(path) {
                Ok(file) => Box::new(file),
                Err(error) => return Err(LineError::Open { name, error }.into()),
            },
            Content::Buffered(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        };
        Ok(LineReader::new(name, reader)?.with_max_bytes(self.limit.max_bytes, REMEDY))
    }
}

/// Buffers a stream. Lines are checked as they arrive, so that an endless one is an error.
fn buffered(name: &str, limit: LineLimit, stream: &mut dyn Read) -> Result<Content, TrainError> {
    let mut recorder = Recorder {
        stream,
        bytes: Vec::new(),
        max_bytes: MAX_BUFFERED_BYTES,
    };
    let lines = LineReader::new(name, &mut recorder)?;
    let mut lines = lines.with_max_bytes(limit.max_bytes, REMEDY);
    loop {
        match lines.next_bytes() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(LineError::TooLong { .. }) if limit.long_lines == LongLines::Drop => {}
            Err(error) => return Err(error.into()),
        }
    }
    drop(lines);
    Ok(Content::Buffered(recorder.bytes.into()))
}

struct Recorder<'a> {
    stream: &'a mut dyn Read,
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl Read for Recorder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.stream.read(buffer)?;
        if self.bytes.len() + n_bytes > self.max_bytes {
            let message = format!(
                "it has more than {} bytes, the limit of text that can be read only once: write it to \
                 a file, and give its path",
                self.max_bytes
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.bytes.extend_from_slice(&buffer[..n_bytes]);
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_stores_what_it_passes_on_up_to_its_limit() -> io::Result<()> {
        let read = |max_bytes| {
            let mut recorder = Recorder {
                stream: &mut &b"abc"[..],
                bytes: Vec::new(),
                max_bytes,
            };
            let mut passed_on = Vec::new();
            recorder.read_to_end(&mut passed_on)?;
            assert_eq!(passed_on, recorder.bytes);
            Ok::<_, io::Error>(passed_on)
        };
        assert_eq!(read(3)?, b"abc");
        let error = read(2).expect_err("it has three bytes");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        Ok(())
    }
}
