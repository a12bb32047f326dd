//! [`LineReader`]: the lines of a text file or stream, plain or gzip, checked to be UTF-8.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use super::unpacked::GzipError;
pub use super::unpacked::Unpacked;

/// Name of standard input in error messages.
pub const STANDARD_INPUT: &str = "standard input";

/// A mark that some editors write before the text. It is not part of the text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Maximum size of a line, in bytes, unless [`LineReader::with_max_bytes`] sets another: 1 MiB, far more than any
/// sentence.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Error of reading a line. Lines and bytes are counted from 1.
///
/// The message contains that of the cause. [`source`](std::error::Error::source) therefore returns `None`, so that
/// programs that print all sources print the cause once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum LineError {
    #[error("cannot open {name}: {error}; check the path")]
    Open { name: String, error: io::Error },
    #[error("cannot read {name} after line {line}: {error}; check the disk and the file")]
    Read {
        name: String,
        /// Number of lines read before.
        line: u64,
        error: io::Error,
    },
    #[error("{name}, line {line}: byte {byte} of the line is not UTF-8; {remedy}")]
    NotUtf8 {
        name: String,
        line: u64,
        byte: usize,
        remedy: &'static str,
    },
    #[error("{name}, line {line} has more than {max_bytes} bytes, the limit of a line; {remedy}")]
    TooLong {
        name: String,
        line: u64,
        /// The limit, in bytes without the line end.
        max_bytes: usize,
        remedy: &'static str,
    },
    #[error("{name} is truncated after line {line}: the gzip stream is incomplete; copy it again")]
    GzipTruncated {
        name: String,
        /// Number of lines read before.
        line: u64,
    },
    #[error("{name} is damaged after line {line}: {error}; check it with `gzip -t`, copy it again")]
    GzipDamaged {
        name: String,
        /// Number of lines read before.
        line: u64,
        error: io::Error,
    },
}

/// Reads a text line by line, with a bounded buffer beside the current line.
///
/// The size of a line is limited too, to [`MAX_LINE_BYTES`] or by [`with_max_bytes`](Self::with_max_bytes), so that
/// memory is bounded for any input: a file without line ends, or a small gzip file of a huge text. A longer line is an
/// error; the next call skips the rest of it and continues with the next line.
///
/// Gzip is recognized by its first bytes, not by the name of the file; several gzip members are one text. Lines end at
/// `\n`, and one `\r` before it belongs to the line end; the last line may lack both. A byte order mark at the start is
/// skipped. From an interactive stream it reads only as far as the current line needs.
///
/// As an iterator it returns owned lines; [`next_line`](Self::next_line) borrows them.
#[derive(Debug)]
pub struct LineReader<R> {
    name: String,
    input: Unpacked<R>,
    /// Bytes of the current line, line end included.
    pub(super) line: Vec<u8>,
    n_read: u64,
    /// The way to convert the file to UTF-8.
    remedy: &'static str,
    max_bytes: usize,
    /// The remedy for a line that is too long.
    too_long_remedy: &'static str,
    /// True if the rest of a line that is too long is still unread.
    has_unread_rest: bool,
}

impl LineError {
    /// Creates the error of a file that cannot be read after a line. If it is gzip and [unpacked](Unpacked), the error
    /// says whether the file is truncated or damaged.
    pub fn of_read(name: impl Into<String>, line: u64, error: io::Error) -> Self {
        let name = name.into();
        let is_gzip = error.get_ref().is_some_and(|it| it.is::<GzipError>());
        match error.kind() {
            io::ErrorKind::UnexpectedEof if is_gzip => Self::GzipTruncated { name, line },
            _ if is_gzip => Self::GzipDamaged { name, line, error },
            _ => Self::Read { name, line, error },
        }
    }
}

impl LineReader<File> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, LineError> {
        let name = format!("`{}`", path.display());
        match File::open(path) {
            Ok(file) => Self::new(name, file),
            Err(error) => Err(LineError::Open { name, error }),
        }
    }
}

impl<R: Read> LineReader<R> {
    /// Reads from a stream; error messages call it by `name`.
    pub fn new(name: impl Into<String>, input: R) -> Result<Self, LineError> {
        let name = name.into();
        let input = match Unpacked::new(input) {
            Ok(input) => input,
            Err(error) => return Err(LineError::Open { name, error }),
        };
        Ok(Self {
            name,
            input,
            line: Vec::new(),
            n_read: 0,
            remedy: "",
            max_bytes: MAX_LINE_BYTES,
            too_long_remedy: "check that it is a text file, and split the line",
            has_unread_rest: false,
        })
    }

    /// Sets the maximum size of a line, in bytes without the line end; `remedy` is the end of the message about a
    /// longer line, such as the way to raise the limit.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize, remedy: &'static str) -> Self {
        Self {
            max_bytes,
            too_long_remedy: remedy,
            ..self
        }
    }

    /// Returns the name that error messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of lines read so far, which is the number of the current line.
    pub fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Returns the next line without its end; `None` at the end of the text.
    ///
    /// After a line that is too long or not UTF-8, the next call returns the next line.
    pub fn next_line(&mut self) -> Result<Option<&str>, LineError> {
        if !self.advance()? {
            return Ok(None);
        }
        let content = self.content();
        match std::str::from_utf8(content) {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(LineError::NotUtf8 {
                name: self.name.clone(),
                line: self.n_read,
                byte: self.mark_len() + error.valid_up_to() + 1,
                remedy: self.remedy,
            }),
        }
    }

    /// Returns the next line as bytes, which need not be UTF-8.
    pub fn next_bytes(&mut self) -> Result<Option<&[u8]>, LineError> {
        let has_line = self.advance()?;
        Ok(has_line.then(|| self.content()))
    }

    /// Reads to the end and returns the number of all lines, of any size and encoding.
    pub fn count_all(&mut self) -> Result<u64, LineError> {
        self.skip_rest()?;
        while self.skip_to_line_end()? {
            self.n_read += 1;
        }
        Ok(self.n_read)
    }

    /// Reads the bytes of the next line; `false` at the end.
    fn advance(&mut self) -> Result<bool, LineError> {
        self.skip_rest()?;
        self.line.clear();
        // A line of the maximum size may have a byte order mark before it and a line end of two bytes.
        let most = self.max_bytes.saturating_add(BYTE_ORDER_MARK.len() + 2);
        match read_line(&mut self.input, most, &mut self.line) {
            Ok(0) => return Ok(false),
            Ok(_) => self.n_read += 1,
            Err(error) => return Err(self.read_error(error)),
        }
        if self.n_read == 1 {
            self.remedy = utf8_remedy(&self.line);
        }
        if self.content().len() <= self.max_bytes {
            return Ok(true);
        }
        self.has_unread_rest = !self.line.ends_with(b"\n");
        Err(LineError::TooLong {
            name: self.name.clone(),
            line: self.n_read,
            max_bytes: self.max_bytes,
            remedy: self.too_long_remedy,
        })
    }

    /// Skips the rest of a line that was too long.
    fn skip_rest(&mut self) -> Result<(), LineError> {
        if std::mem::take(&mut self.has_unread_rest) {
            self.skip_to_line_end()?;
        }
        Ok(())
    }

    /// Reads to the next line end, or to the end, and stores nothing; `false` at the end.
    fn skip_to_line_end(&mut self) -> Result<bool, LineError> {
        skip_to_line_end(&mut self.input).map_err(|error| self.read_error(error))
    }

    /// Returns the current line without its end and without a byte order mark.
    fn content(&self) -> &[u8] {
        let line = &self.line[self.mark_len()..];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    fn mark_len(&self) -> usize {
        match self.n_read == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            true => BYTE_ORDER_MARK.len(),
            false => 0,
        }
    }

    fn read_error(&self, error: io::Error) -> LineError {
        LineError::of_read(&self.name, self.n_read, error)
    }
}

impl<R: Read> Iterator for LineReader<R> {
    type Item = Result<String, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.next_line().transpose()?;
        Some(line.map(str::to_owned))
    }
}

/// Reads a line, but at most `most` bytes, and returns their number.
fn read_line(input: &mut impl BufRead, most: usize, line: &mut Vec<u8>) -> io::Result<usize> {
    input.take(most as u64).read_until(b'\n', line)
}

/// Skips bytes to and including the next line end; `false` if there are none.
fn skip_to_line_end(input: &mut impl BufRead) -> io::Result<bool> {
    let mut has_bytes = false;
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if buffer.is_empty() {
            return Ok(has_bytes);
        }
        has_bytes = true;
        let line_end = buffer.iter().position(|byte| *byte == b'\n');
        let n_bytes = line_end.map_or(buffer.len(), |index| index + 1);
        input.consume(n_bytes);
        if line_end.is_some() {
            return Ok(true);
        }
    }
}

/// First bytes of compressed files and of UTF-16, with the way to convert them.
const REMEDIES: [(&[u8], &str); 6] = [
    (
        &[0xfd, b'7', b'z', b'X', b'Z', 0],
        "it is xz: unpack it first, with `xz -d`",
    ),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "it is zstd: unpack it first, with `zstd -d`",
    ),
    (b"BZh", "it is bzip2: unpack it first, with `bunzip2`"),
    (b"PK\x03\x04", "it is zip: unpack it first, with `unzip`"),
    (
        &[0xff, 0xfe],
        "it is UTF-16: convert it, with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        &[0xfe, 0xff],
        "it is UTF-16: convert it, with `iconv -f UTF-16 -t UTF-8`",
    ),
];

/// Returns the way to convert a file with these first bytes to UTF-8; a few bytes are enough.
pub fn utf8_remedy(start: &[u8]) -> &'static str {
    let known = REMEDIES.iter().find(|(first, _)| start.starts_with(first));
    known.map_or(
        "convert the file, for example with `iconv -f LATIN1 -t UTF-8` if that is its encoding",
        |(_, remedy)| *remedy,
    )
}
