//! Lines of one file, plain or gzip, checked to be UTF-8.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use transformer_infer::remedy_for_bytes;

use crate::corpus::CorpusError;
use crate::corpus::input::Input;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const BUFFER_BYTES: usize = 1 << 16;

/// Reads lines one after another.
pub(super) struct Lines {
    pub(super) name: String,
    reader: Box<dyn BufRead + Send>,
    gzip: bool,
    n_read: u64,
    line: Vec<u8>,
    /// What to do if it is not UTF-8.
    remedy: &'static str,
}

impl Lines {
    pub(super) fn open(input: &Input) -> Result<Self, CorpusError> {
        let name = input.name.clone();
        let opened = input.open().and_then(decoded);
        let (reader, gzip) = match opened {
            Ok(opened) => opened,
            Err(source) => return Err(CorpusError::Open { file: name, source }),
        };
        Ok(Self {
            name,
            reader,
            gzip,
            n_read: 0,
            line: Vec::new(),
            remedy: "",
        })
    }

    /// Returns the number of lines read so far, which is the number of the last one.
    pub(super) fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Reads the next line, or nothing at the end. The last line may lack its `\n`.
    pub(super) fn next_line(&mut self) -> Result<Option<&str>, CorpusError> {
        if !self.advance()? {
            return Ok(None);
        }
        let line = self.line.as_slice();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = match self.n_read {
            1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
            _ => line,
        };
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(CorpusError::NotUtf8 {
                file: self.name.clone(),
                line: self.n_read,
                byte: error.valid_up_to() + 1,
                remedy: self.remedy,
            }),
        }
    }

    /// Reads to the end and returns the number of lines in all.
    pub(super) fn count_all(&mut self) -> Result<u64, CorpusError> {
        while self.advance()? {}
        Ok(self.n_read)
    }

    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.line.clear();
        match self.reader.read_until(b'\n', &mut self.line) {
            Ok(0) => Ok(false),
            Ok(_) => {
                self.n_read += 1;
                if self.n_read == 1 {
                    self.remedy = remedy_for_bytes(&self.line);
                }
                Ok(true)
            }
            Err(source) => Err(self.read_error(source)),
        }
    }

    fn read_error(&self, source: io::Error) -> CorpusError {
        let (file, line) = (self.name.clone(), self.n_read);
        match source.kind() {
            io::ErrorKind::UnexpectedEof if self.gzip => CorpusError::GzipTruncated { file, line },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput if self.gzip => {
                CorpusError::GzipDamaged { file, line, source }
            }
            _ => CorpusError::Read { file, line, source },
        }
    }
}

/// Unpacks what starts as gzip does, whatever its name; several gzip members are one text.
fn decoded(mut reader: Box<dyn Read + Send>) -> io::Result<(Box<dyn BufRead + Send>, bool)> {
    let mut start = Vec::new();
    reader
        .by_ref()
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    let gzip = start == GZIP_MAGIC;
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(start).chain(reader));
    Ok(match gzip {
        true => {
            let decoder = MultiGzDecoder::new(whole);
            (
                Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)),
                true,
            )
        }
        false => (Box::new(whole), false),
    })
}
