//! [`Unpacked`]: a stream of bytes, decompressed if it is gzip.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::GzDecoder;

pub(super) const BUFFER_BYTES: usize = 1 << 16;

/// A stream after its first bytes were read to recognize gzip.
type Peeked<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// Reads a stream, and decompresses it if its first bytes are those of gzip, whatever its name. Several gzip members
/// are one stream; other bytes after them are an error.
///
/// From an interactive stream it reads only as far as requested.
///
/// # Errors
///
/// For an error of the decoder, [`LineError::of_read`](crate::lines::LineError::of_read) says whether the file is
/// truncated or damaged.
#[derive(Debug)]
pub struct Unpacked<R>(Input<R>);

#[derive(Debug)]
enum Input<R> {
    Plain(Peeked<R>),
    Gzip(Box<BufReader<GzipMembers<Peeked<R>>>>),
}

/// An error while a gzip file was read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct GzipError(io::Error);

impl<R: Read> Unpacked<R> {
    /// Reads the first bytes of a stream.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut start = Vec::new();
        // Byte by byte, because a second byte may never arrive from an interactive stream.
        for magic in GZIP_MAGIC {
            input.by_ref().take(1).read_to_end(&mut start)?;
            if start.last() != Some(&magic) {
                break;
            }
        }
        let is_gzip = start == GZIP_MAGIC;
        let whole = Cursor::new(start).chain(input);
        let whole = BufReader::with_capacity(BUFFER_BYTES, whole);
        Ok(Self(match is_gzip {
            true => {
                let decoder = GzipMembers::new(whole);
                Input::Gzip(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)))
            }
            false => Input::Plain(whole),
        }))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Input::Plain(input) => input.read(buffer),
            Input::Gzip(input) => input.read(buffer).map_err(in_gzip),
        }
    }
}

impl<R: Read> BufRead for Unpacked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Input::Plain(input) => input.fill_buf(),
            Input::Gzip(input) => input.fill_buf().map_err(in_gzip),
        }
    }

    fn consume(&mut self, n_bytes: usize) {
        match &mut self.0 {
            Input::Plain(input) => input.consume(n_bytes),
            Input::Gzip(input) => input.consume(n_bytes),
        }
    }
}

/// Marks an error of the decoder, and keeps its kind.
fn in_gzip(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            io::Error::new(error.kind(), GzipError(error))
        }
        _ => error,
    }
}

/// First bytes of every gzip file.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Decompresses gzip members in sequence. Anything else after a member is an error; the multi-member decoder of
/// `flate2` would take it for an incomplete member.
#[derive(Debug)]
pub(super) struct GzipMembers<R> {
    /// `None` only while it is replaced.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            member: Some(GzDecoder::new(input)),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            let n_bytes = member.read(buffer);
            if !matches!(n_bytes, Ok(0)) || buffer.is_empty() {
                self.member = Some(member);
                return n_bytes;
            }
            let next = member
                .get_mut()
                .fill_buf()
                .map(|next| next.first().copied());
            match next {
                Ok(Some(first)) if first == GZIP_MAGIC[0] => {
                    self.member = Some(GzDecoder::new(member.into_inner()));
                }
                Ok(None) => {
                    self.member = Some(member);
                    return Ok(0);
                }
                Ok(Some(_)) => {
                    self.member = Some(member);
                    let message = "there is something else after the end of the gzip data";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                Err(error) => {
                    self.member = Some(member);
                    return Err(error);
                }
            }
        }
        Ok(0)
    }
}
