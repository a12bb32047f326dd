//! [`Scanner`]: reads the bytes of a JSON document one by one, and counts positions.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use transformer_text::lines::{LineError, utf8_remedy};

use crate::ReadError;

/// A reader of bytes that counts lines and columns.
pub(super) struct Scanner {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    /// Number of the line of the next byte, from 1.
    line: u64,
    /// Number of bytes of this line that have been read.
    column: u64,
    /// The remedy if the file is not UTF-8, chosen by its first bytes.
    remedy: Option<&'static str>,
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner")
            .field("name", &self.name)
            .field("line", &self.line)
            .field("column", &self.column)
            .finish_non_exhaustive()
    }
}

impl Scanner {
    pub(super) fn new(name: String, input: impl Read + Send + 'static) -> Self {
        Self {
            name,
            input: BufReader::with_capacity(1 << 16, Box::new(input)),
            line: 1,
            column: 0,
            remedy: None,
        }
    }

    /// Returns the next byte without taking it; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => {
                    self.remedy.get_or_insert_with(|| utf8_remedy(bytes));
                    return Ok(bytes.first().copied());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(LineError::of_read(&self.name, self.line - 1, error).into());
                }
            }
        }
    }

    /// Takes the byte that [`peek`](Self::peek) returned.
    pub(super) fn skip(&mut self, byte: u8) {
        self.input.consume(1);
        if byte == b'\n' {
            self.line += 1;
            self.column = 0;
        } else {
            self.column += 1;
        }
    }

    /// Returns the remedy if the file is not UTF-8.
    pub(super) fn utf8_remedy(&self) -> &'static str {
        self.remedy.unwrap_or_else(|| utf8_remedy(&[]))
    }

    /// Makes an error about the next byte.
    pub(super) fn error(&self, problem: impl fmt::Display, remedy: &'static str) -> ReadError {
        ReadError::Syntax {
            name: self.name.clone(),
            line: self.line,
            problem: format!("column {}: {problem}", self.column + 1),
            remedy,
        }
    }
}
