//! [`Source`]: the part of a document that is in memory, as UTF-8.

use std::fmt;
use std::io::Read;

use transformer_text::lines::{LineError, utf8_remedy};

use crate::ReadError;

/// Maximum size of a record, such as a line, a cue or a row, in bytes: 1 MiB.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;

/// Number of bytes to read at a time, unless a token needs more.
const BLOCK_BYTES: usize = 1 << 16;

/// The text of a document that has been read but not taken.
pub(super) struct Source {
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
    /// The error to return after the text read before it.
    error: Option<ReadError>,
    /// Number of line feeds in the text taken so far.
    n_lines: u64,
    /// Number of bytes after the last of them.
    n_line_bytes: usize,
}

impl Source {
    /// Reads from a stream. `name` is the document in error messages.
    pub(super) fn new(name: String, input: impl Read + Send + 'static) -> Self {
        Self {
            name,
            input: Box::new(input),
            remedy: None,
            text: String::new(),
            taken: 0,
            partial: Vec::new(),
            is_at_end: false,
            error: None,
            n_lines: 0,
            n_line_bytes: 0,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text[self.taken..]
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Returns the number of lines of which something has been taken, which is the number of the current line.
    pub(super) fn n_read(&self) -> u64 {
        self.n_lines + u64::from(self.n_line_bytes > 0)
    }

    pub(super) fn take(&mut self, n_bytes: usize) -> String {
        let taken = self.text()[..n_bytes].to_owned();
        self.taken += n_bytes;
        self.n_lines += n_line_feeds(&taken);
        self.n_line_bytes = match taken.rfind('\n') {
            Some(at) => taken.len() - at - 1,
            None => self.n_line_bytes + taken.len(),
        };
        taken
    }

    pub(super) fn take_byte_order_mark(&mut self) -> Result<String, ReadError> {
        self.fill()?;
        let mark = self.text().chars().next().filter(|c| *c == '\u{feff}');
        let mark = self.take(mark.map_or(0, char::len_utf8));
        // Editors do not count it.
        self.n_line_bytes = 0;
        Ok(mark)
    }

    /// Returns the byte at an index of the text, and reads it if needed; `None` after the end.
    pub(super) fn byte(&mut self, index: usize) -> Result<Option<u8>, ReadError> {
        while self.text().len() <= index && !self.is_at_end {
            self.fill()?;
        }
        Ok(self.text().as_bytes().get(index).copied())
    }

    /// Takes the next line including its line end, `\n` or `\r\n`; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, ReadError> {
        let mut searched = 0;
        let len = loop {
            let text = self.text();
            let found = text[searched..].find('\n').map(|at| searched + at + 1);
            let is_all = self.is_at_end || text.len() > MAX_RECORD_BYTES;
            if let Some(len) = found.or(is_all.then_some(text.len())) {
                break len;
            }
            searched = text.len();
            self.fill()?;
        };
        if len > MAX_RECORD_BYTES {
            return Err(ReadError::Line(LineError::TooLong {
                name: self.name.clone(),
                line: self.n_lines + 1,
                max_bytes: MAX_RECORD_BYTES,
                remedy: "check the format of the file, and split the line",
            }));
        }
        Ok((len > 0).then(|| self.take(len)))
    }

    /// Refuses a file that ends its first line with a carriage return alone.
    pub(super) fn check_line_ends(&self, line: &str) -> Result<(), ReadError> {
        if self.n_read() > 1 || !line.trim_end_matches(['\r', '\n']).contains('\r') {
            return Ok(());
        }
        let problem = "there is a carriage return without a line feed";
        Err(self.syntax(1, problem, "end lines with line feeds"))
    }

    pub(super) fn bilingual(&self) -> ReadError {
        ReadError::Bilingual {
            name: self.name.clone(),
        }
    }

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

    pub(super) fn error(&self, problem: impl Into<String>, remedy: &'static str) -> ReadError {
        self.syntax(self.n_lines + 1, problem, remedy)
    }

    /// Makes an error about a byte of the next text, which has no line ends before it.
    pub(super) fn error_at(
        &self,
        index: usize,
        problem: impl fmt::Display,
        remedy: &'static str,
    ) -> ReadError {
        let column = self.n_line_bytes + index + 1;
        self.error(format!("column {column}: {problem}"), remedy)
    }

    pub(super) fn too_large(&self, line: u64, record: &str) -> ReadError {
        self.syntax(
            line,
            format!("{record} that begins here has more than {MAX_RECORD_BYTES} bytes, the limit"),
            "check that what ends it is not missing",
        )
    }

    /// Reads at least as many bytes as it holds, so that reading a long token takes linear time. An error is returned by
    /// the next call, after the text before it.
    pub(super) fn fill(&mut self) -> Result<(), ReadError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.text.drain(..self.taken);
        self.taken = 0;
        let n_wanted = self.text.len().max(BLOCK_BYTES);
        let mut bytes = std::mem::take(&mut self.partial);
        let limit = (n_wanted - bytes.len()) as u64;
        let read = (&mut self.input).take(limit).read_to_end(&mut bytes);
        self.is_at_end = read.as_ref().is_ok_and(|n_read| (*n_read as u64) < limit);
        self.remedy.get_or_insert_with(|| utf8_remedy(&bytes));
        let n_valid = match std::str::from_utf8(&bytes) {
            Ok(_) => bytes.len(),
            Err(error) => {
                let n_valid = error.valid_up_to();
                if error.error_len().is_none() && !self.is_at_end {
                    self.partial = bytes[n_valid..].to_vec();
                } else {
                    self.is_at_end = false;
                    self.error = Some(self.utf8_error(&bytes[..n_valid]));
                }
                n_valid
            }
        };
        let valid = std::str::from_utf8(&bytes[..n_valid]);
        self.text.push_str(valid.unwrap_or_default());
        if let Err(error) = read {
            let line = self.n_lines + n_line_feeds(&self.text);
            let error = LineError::of_read(&self.name, line, error).into();
            self.error.get_or_insert(error);
        }
        Ok(())
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

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Source");
        shown
            .field("name", &self.name)
            .field("n_lines", &self.n_lines);
        shown.finish_non_exhaustive()
    }
}

fn n_line_feeds(text: impl AsRef<[u8]>) -> u64 {
    text.as_ref().iter().filter(|&&byte| byte == b'\n').count() as u64
}

pub(super) fn split_line_end(line: &str) -> (&str, &str) {
    let content = line.strip_suffix('\n').unwrap_or(line);
    let content = content.strip_suffix('\r').unwrap_or(content);
    line.split_at(content.len())
}
