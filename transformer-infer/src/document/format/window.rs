//! [`Window`]: the part of a file that is in memory, as UTF-8.

use std::fmt;
use std::io::{self, Read};

use crate::document::DocumentError;

/// Number of bytes that are read at once, unless a token needs more.
const BLOCK_BYTES: usize = 1 << 16;

/// What to do about a file that is not UTF-8.
pub(super) const CONVERT: &str =
    "convert the file, for example with `iconv -f windows-1252 -t utf-8`";

/// The bytes of a file that were read and not yet taken, checked to be UTF-8.
pub(super) struct Window {
    name: String,
    input: Box<dyn Read + Send>,
    /// What to do if the file is not UTF-8.
    remedy: &'static str,
    text: String,
    /// Number of bytes of the text that are taken.
    taken: usize,
    /// The first bytes of a character whose others were not read yet.
    partial: Vec<u8>,
    is_at_end: bool,
    /// Number of line feeds in what was taken.
    n_lines: u64,
}

impl Window {
    /// Reads from a stream, which error messages call by `name`; `remedy` is what to do if it is not UTF-8.
    pub(super) fn new(name: String, input: Box<dyn Read + Send>, remedy: &'static str) -> Self {
        Self {
            name,
            input,
            remedy,
            text: String::new(),
            taken: 0,
            partial: Vec::new(),
            is_at_end: false,
            n_lines: 0,
        }
    }

    /// What was read and not taken.
    pub(super) fn text(&self) -> &str {
        &self.text[self.taken..]
    }

    /// Whether nothing comes behind [`text`](Self::text).
    pub(super) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, n_bytes: usize) -> String {
        let taken = self.text()[..n_bytes].to_owned();
        self.taken += n_bytes;
        self.n_lines += n_line_feeds(taken.as_bytes());
        taken
    }

    /// Makes an error at the line of the next byte.
    pub(super) fn error(&self, problem: String, remedy: &'static str) -> DocumentError {
        DocumentError::Syntax {
            name: self.name.clone(),
            line: self.n_lines + 1,
            problem,
            remedy,
        }
    }

    /// Reads at least as many bytes as there are, so that reading a long token takes linear time.
    pub(super) fn fill(&mut self) -> Result<(), DocumentError> {
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

    fn read_error(&self, source: io::Error) -> DocumentError {
        DocumentError::Read {
            name: self.name.clone(),
            line: self.n_lines + n_line_feeds(self.text.as_bytes()),
            source,
        }
    }

    /// Makes the error of an invalid byte behind the text and these valid bytes.
    fn utf8_error(&self, valid: &[u8]) -> DocumentError {
        let n_lines = n_line_feeds(self.text.as_bytes()) + n_line_feeds(valid);
        DocumentError::Syntax {
            name: self.name.clone(),
            line: self.n_lines + n_lines + 1,
            problem: "the line is not UTF-8".to_owned(),
            remedy: self.remedy,
        }
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
