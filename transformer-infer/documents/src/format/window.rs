//! [`Window`]: the part of a file that is in memory, as UTF-8.

use std::fmt;
use std::io::{self, Read};

use transformer_text::lines::{LineError, utf8_remedy};

use crate::ReadError;

/// Number of bytes to read at a time, unless a token needs more.
const BLOCK_BYTES: usize = 1 << 16;

/// The bytes of a file that have been read but not taken, checked to be UTF-8.
pub(super) struct Window {
    name: String,
    input: Box<dyn Read + Send>,
    /// The remedy if the file is not UTF-8, chosen by its first bytes.
    remedy: Option<&'static str>,
    text: String,
    /// Number of bytes of the text that have been taken.
    taken: usize,
    /// The first bytes of a character that has not been read completely.
    partial: Vec<u8>,
    is_at_end: bool,
    /// Number of line feeds in the text taken so far.
    n_lines: u64,
    /// Number of bytes after the last of them.
    n_line_bytes: usize,
}

impl Window {
    /// Reads from a stream. `name` is the document in error messages.
    pub(super) fn new(name: String, input: Box<dyn Read + Send>) -> Self {
        Self {
            name,
            input,
            remedy: None,
            text: String::new(),
            taken: 0,
            partial: Vec::new(),
            is_at_end: false,
            n_lines: 0,
            n_line_bytes: 0,
        }
    }

    /// Returns the text that has been read but not taken.
    pub(super) fn text(&self) -> &str {
        &self.text[self.taken..]
    }

    /// Returns whether nothing comes after [`text`](Self::text).
    pub(super) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, n_bytes: usize) -> String {
        let taken = self.text()[..n_bytes].to_owned();
        self.taken += n_bytes;
        self.n_lines += n_line_feeds(taken.as_bytes());
        self.n_line_bytes = match taken.rfind('\n') {
            Some(at) => taken.len() - at - 1,
            None => self.n_line_bytes + taken.len(),
        };
        taken
    }

    /// Makes an error at the line of the next byte.
    pub(super) fn error(&self, problem: String, remedy: &'static str) -> ReadError {
        ReadError::Syntax {
            name: self.name.clone(),
            line: self.n_lines + 1,
            problem,
            remedy,
        }
    }

    /// Reads at least as many bytes as it holds, so that reading a long token takes linear time.
    pub(super) fn fill(&mut self) -> Result<(), ReadError> {
        self.text.drain(..self.taken);
        self.taken = 0;
        let n_wanted = self.text.len().max(BLOCK_BYTES);
        let mut bytes = std::mem::take(&mut self.partial);
        let limit = (n_wanted - bytes.len()) as u64;
        let n_read = (&mut self.input)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|source| self.read_error(source))?;
        self.is_at_end = (n_read as u64) < limit;
        self.remedy.get_or_insert_with(|| utf8_remedy(&bytes));
        let valid = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && !self.is_at_end => {
                let (valid, partial) = bytes.split_at(error.valid_up_to());
                self.partial = partial.to_vec();
                std::str::from_utf8(valid).unwrap_or_default()
            }
            Err(error) => return Err(self.utf8_error(&bytes[..error.valid_up_to()])),
        };
        self.text.push_str(valid);
        Ok(())
    }

    fn read_error(&self, source: io::Error) -> ReadError {
        let line = self.n_lines + n_line_feeds(self.text.as_bytes());
        LineError::of_read(&self.name, line, source).into()
    }

    /// Makes the error for an invalid byte after the text and these valid bytes.
    fn utf8_error(&self, valid: &[u8]) -> ReadError {
        let before = [self.text.as_bytes(), valid].concat();
        let n_bytes = match before.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => before.len() - at - 1,
            None => self.n_line_bytes + before.len(),
        };
        ReadError::Line(LineError::NotUtf8 {
            name: self.name.clone(),
            line: self.n_lines + n_line_feeds(&before) + 1,
            byte: n_bytes + 1,
            remedy: self.remedy.unwrap_or_else(|| utf8_remedy(valid)),
        })
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Window")
            .field("name", &self.name)
            .field("n_lines", &self.n_lines)
            .finish_non_exhaustive()
    }
}

fn n_line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}
