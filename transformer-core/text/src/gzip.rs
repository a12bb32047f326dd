//! [`GzipMembers`]: a gzip decoder that reports other data after the end.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

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
