//! [`decoded`]: the text of a file in its encoding, and [`Charset`], the way back.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use transformer_text::lines::LineError;

use crate::ReadError;

/// Number of bytes at the start of a file in which to look for its encoding.
pub(super) const HEAD_BYTES: u64 = 1 << 16;

/// Maximum size in bytes of a file in an encoding other than UTF-8, which is decoded as a whole.
const MAX_BYTES: u64 = 1 << 24;

/// False if only UTF-8, UTF-16 and ISO 8859-1 are compiled.
const HAS_ENCODINGS: bool = cfg!(feature = "encodings");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    Standard(&'static Encoding),
    /// The characters of Unicode up to this one, each a byte: ASCII or ISO 8859-1, which on the web are windows-1252.
    UpTo(u8),
}

impl Charset {
    pub(super) const UTF_8: Self = Self::Standard(UTF_8);
    pub(super) const LATIN_1: Self = Self::UpTo(0xff);

    /// Returns the encoding of a name, if it is known and can be written.
    pub(super) fn of_label(label: &str) -> Option<Self> {
        // Under the standard, a declaration of UTF-16 that can be read as ASCII means UTF-8.
        let is_utf8 = label.starts_with("utf-16") || label.contains("unicode");
        let encoding = match is_utf8 {
            true => UTF_8,
            false if HAS_ENCODINGS => Encoding::for_label(label.as_bytes())?,
            false => return Self::of_common_label(label),
        };
        // Documents are written in pieces, which an encoding with shifts would end in ASCII.
        let can_be_written = encoding.output_encoding() == encoding && encoding != ISO_2022_JP;
        can_be_written.then_some(Self::Standard(encoding))
    }

    /// Returns the encoding of a name, in a build without the Encoding Standard's tables.
    fn of_common_label(label: &str) -> Option<Self> {
        match label.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Some(Self::UTF_8),
            "iso-8859-1" | "latin1" => Some(Self::LATIN_1),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Standard(encoding) => encoding.name(),
            Self::UpTo(0x7f) => "US-ASCII",
            Self::UpTo(_) => "ISO-8859-1",
        }
    }

    fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Standard(it) if it == UTF_16LE => utf16(bytes, u16::from_le_bytes),
            Self::Standard(it) if it == UTF_16BE => utf16(bytes, u16::from_be_bytes),
            Self::Standard(_) if !HAS_ENCODINGS => None,
            Self::Standard(it) => it.decode_without_bom_handling_and_without_replacement(bytes),
            Self::UpTo(_) => Some(bytes.iter().copied().map(char::from).collect()),
        }
    }

    /// Writes text, with references of HTML and XML for characters that the encoding lacks.
    pub(super) fn encode(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            Self::UpTo(last) => {
                let mut bytes = Vec::with_capacity(text.len());
                for c in text.chars() {
                    match u8::try_from(c) {
                        Ok(byte) if byte <= last => bytes.push(byte),
                        _ => bytes.extend_from_slice(format!("&#{};", u32::from(c)).as_bytes()),
                    }
                }
                bytes.into()
            }
            Self::Standard(it) if it == UTF_16LE => {
                text.encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            Self::Standard(it) if it == UTF_16BE => {
                text.encode_utf16().flat_map(u16::to_be_bytes).collect()
            }
            Self::Standard(_) if !HAS_ENCODINGS => text.as_bytes().into(),
            Self::Standard(it) => it.encode(text).0,
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Cow<'_, str>> {
    let (units, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(units.iter().copied().map(unit)).collect::<Result<String, _>>();
    text.ok().filter(|_| rest.is_empty()).map(Cow::Owned)
}

/// Returns a file as UTF-8, and its encoding: that of its byte order mark, or the one that `declared` finds in its first
/// bytes. Fails if it cannot be read, is too large in another encoding, or is invalid in its encoding.
pub(super) fn decoded(
    name: &str,
    mut input: impl Read + Send + 'static,
    declared: impl Fn(&[u8]) -> Option<Charset>,
) -> Result<(Box<dyn Read + Send>, Option<Charset>), ReadError> {
    let read_error = |error| LineError::of_read(name, 0, error);
    let mut bytes = Vec::new();
    let mut head = input.by_ref().take(HEAD_BYTES);
    head.read_to_end(&mut bytes).map_err(read_error)?;
    // After its end, a terminal would be asked for more.
    let has_ended = (bytes.len() as u64) < HEAD_BYTES;
    let mut rest = input.take(if has_ended { 0 } else { u64::MAX });
    let charset = match Encoding::for_bom(&bytes) {
        Some((encoding, _)) => Some(Charset::Standard(encoding)),
        None => declared(&bytes),
    };
    let Some(charset) = charset.filter(|it| *it != Charset::UTF_8) else {
        return Ok((Box::new(Cursor::new(bytes).chain(rest)), charset));
    };
    rest.set_limit(rest.limit().min(MAX_BYTES + 1));
    rest.read_to_end(&mut bytes).map_err(read_error)?;
    let is_small = bytes.len() as u64 <= MAX_BYTES;
    let text = is_small.then(|| charset.decode(&bytes)).flatten();
    let text = text.filter(|text| *charset.encode(text) == *bytes);
    let text = text.ok_or_else(|| ReadError::Syntax {
        name: name.to_owned(),
        line: 1,
        problem: format!(
            "the encoding of the file is `{}`, expected at most {MAX_BYTES} bytes, all of this encoding",
            charset.name()
        ),
        remedy: CONVERT,
    })?;
    Ok((Box::new(Cursor::new(text.into_owned())), Some(charset)))
}

pub(super) const CONVERT: &str = "convert the file, for example with `iconv -f windows-1252 -t utf-8`, and change the \
                                  encoding that it declares, if it does";
