//! [`decoded`]: the text of a page in its declared encoding, and [`encoded`], the way back.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use transformer_text::lines::LineError;

use super::attributes::declared_encoding;
use super::elements::text_mode;
use super::token::{TextMode, TokenKind};
use super::tokenizer::next_token;
use crate::ReadError;

/// Number of bytes at the start of a page in which to look for its encoding.
const HEAD_BYTES: u64 = 1 << 16;

/// Maximum size in bytes of a page in an encoding other than UTF-8, which is decoded as a whole.
const MAX_BYTES: u64 = 1 << 24;

/// Returns a page as UTF-8, and the encoding that its byte order mark or its first `<meta charset>` declares.
///
/// # Errors
///
/// Returns an error if the page cannot be read, is too large in another encoding, or is invalid in its encoding.
pub(super) fn decoded(
    name: &str,
    mut input: impl Read + Send + 'static,
) -> Result<(Box<dyn Read + Send>, Option<&'static Encoding>), ReadError> {
    let read_error = |error| LineError::of_read(name, 0, error);
    let mut bytes = Vec::new();
    let mut head = input.by_ref().take(HEAD_BYTES);
    head.read_to_end(&mut bytes).map_err(read_error)?;
    let encoding = match Encoding::for_bom(&bytes) {
        Some((encoding, _)) => Some(encoding),
        None => encoding_of(&bytes),
    };
    let Some(encoding) = encoding.filter(|encoding| *encoding != UTF_8) else {
        return Ok((Box::new(Cursor::new(bytes).chain(input)), encoding));
    };
    let mut rest = input.take(MAX_BYTES + 1);
    rest.read_to_end(&mut bytes).map_err(read_error)?;
    let is_small = bytes.len() as u64 <= MAX_BYTES;
    let decoded = || encoding.decode_without_bom_handling_and_without_replacement(&bytes);
    let text = is_small.then(decoded).flatten();
    let text = text.filter(|text| *encoded(text, encoding) == *bytes);
    let text = text.ok_or_else(|| ReadError::Syntax {
        name: name.to_owned(),
        line: 1,
        problem: format!(
            "the page declares its encoding as `{}`, expected at most {MAX_BYTES} bytes, all of this encoding",
            encoding.name()
        ),
        remedy: super::reader::CONVERT,
    })?;
    Ok((Box::new(Cursor::new(text.into_owned())), Some(encoding)))
}

/// Writes text in an encoding, with references for characters that the encoding lacks.
pub(in crate::format) fn encoded<'a>(text: &'a str, encoding: &'static Encoding) -> Cow<'a, [u8]> {
    if encoding == UTF_16LE {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    } else if encoding == UTF_16BE {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    } else {
        encoding.encode(text).0
    }
}

/// Returns the encoding in the first `meta` tag that declares one, if it is known.
fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    let ascii = |byte: &u8| char::from(if byte.is_ascii() { *byte } else { b'?' });
    let head: String = head.iter().map(ascii).collect();
    let mut rest = head.as_str();
    let mut mode = TextMode::Data;
    while !rest.is_empty()
        && let Some(token) = next_token(rest, false, false, &mut mode)
    {
        mode = match &token.kind {
            TokenKind::Start(tag) => {
                if let Some(declared) = declared_encoding(tag, rest) {
                    return declared.encoding;
                }
                text_mode(&tag.name)
            }
            TokenKind::End(_) => TextMode::Data,
            _ => mode,
        };
        rest = &rest[token.len..];
    }
    None
}
