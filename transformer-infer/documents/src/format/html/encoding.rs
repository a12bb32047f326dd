//! [`declared`]: finds the encoding that a page declares.

use super::attributes::declared_encoding;
use super::elements::text_mode;
use super::token::{TextMode, TokenKind};
use super::tokenizer::next_token;
use crate::format::encoding::Charset;

/// Returns the encoding in the first `meta` tag that declares one, if it is known.
pub(in crate::format) fn declared(head: &[u8]) -> Option<Charset> {
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
