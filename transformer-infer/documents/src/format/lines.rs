//! [`SourceLines`]: the lines of a document with their line ends, to be copied byte for byte.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use transformer_text::lines::{LineError, utf8_remedy};

use crate::ReadError;

/// Maximum size of a record, such as a line, a cue or a row, in bytes: 1 MiB.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;

/// A reader of the lines of a document. It keeps line ends, a byte order mark and a missing last line end.
pub(super) struct SourceLines {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    n_read: u64,
    /// The remedy if the file is not UTF-8, chosen by its first bytes.
    remedy: Option<&'static str>,
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceLines")
            .field("name", &self.name)
            .field("n_read", &self.n_read)
            .finish_non_exhaustive()
    }
}

impl SourceLines {
    /// Reads from a stream. `name` is the document in error messages.
    pub(super) fn new(name: String, input: impl Read + Send + 'static) -> Self {
        Self {
            name,
            input: BufReader::new(Box::new(input)),
            n_read: 0,
            remedy: None,
        }
    }

    /// Returns the number of lines read so far, which is the number of the current line.
    pub(super) fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Returns the next line including its line end, `\n` or `\r\n`; `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails, or if the line is too long or not UTF-8.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, ReadError> {
        let mut line = Vec::new();
        let most = (MAX_RECORD_BYTES + 1) as u64;
        let read = self
            .input
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut line)
            .map_err(|error| LineError::of_read(&self.name, self.n_read, error))?;
        if read == 0 {
            return Ok(None);
        }
        self.n_read += 1;
        self.remedy.get_or_insert_with(|| utf8_remedy(&line));
        if line.len() > MAX_RECORD_BYTES {
            return Err(ReadError::Line(LineError::TooLong {
                name: self.name.clone(),
                line: self.n_read,
                max_bytes: MAX_RECORD_BYTES,
                remedy: "check the format of the file, and split the line",
            }));
        }
        let remedy = self.remedy.unwrap_or_else(|| utf8_remedy(&[]));
        String::from_utf8(line).map(Some).map_err(|error| {
            ReadError::Line(LineError::NotUtf8 {
                name: self.name.clone(),
                line: self.n_read,
                byte: error.utf8_error().valid_up_to() + 1,
                remedy,
            })
        })
    }

    /// Makes an error about a line.
    pub(super) fn syntax(
        &self,
        line: u64,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> ReadError {
        ReadError::Syntax {
            name: self.name.clone(),
            line,
            problem: problem.into(),
            remedy,
        }
    }

    /// Makes the error about a record larger than [`MAX_RECORD_BYTES`].
    pub(super) fn too_large(&self, line: u64, record: &str) -> ReadError {
        self.syntax(
            line,
            format!("{record} that begins here has more than {MAX_RECORD_BYTES} bytes, the limit"),
            "check that what ends it is not missing",
        )
    }
}

/// Splits a line into its content and its line end.
pub(super) fn split_line_end(line: &str) -> (&str, &str) {
    let content = line.strip_suffix('\n').unwrap_or(line);
    let content = content.strip_suffix('\r').unwrap_or(content);
    line.split_at(content.len())
}

/// Splits a byte order mark off the start of a file.
pub(super) fn split_byte_order_mark(text: &str) -> (&str, &str) {
    let len = if text.starts_with('\u{feff}') { 3 } else { 0 };
    text.split_at(len)
}
