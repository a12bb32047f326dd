//! Reads a tag: the states "tag name" to "self-closing start tag" of the standard's tokenizer.

use super::tokenizer::{Attribute, MAX_NAME_BYTES, Quote, Tag};
use crate::format::items::is_space;

/// The attributes that matter to the reader.
const ATTRIBUTES: &str = "alt aria-label charset class color content encoding face http-equiv label name placeholder \
     size style title translate xml:space";

/// Reads a tag from its name, which begins at `at`; returns it and the index after its `>`, if the text has it.
pub(super) fn scan_tag(text: &str, mut at: usize) -> Option<(Tag, usize)> {
    let bytes = text.as_bytes();
    let name_end = find(bytes, at, |byte| {
        is_space(byte) || matches!(byte, b'/' | b'>')
    })?;
    let name = &text[at..name_end];
    let name = &name[..name.floor_char_boundary(MAX_NAME_BYTES)];
    let mut tag = Tag {
        name: name.to_ascii_lowercase().replace('\0', "\u{FFFD}"),
        ..Tag::default()
    };
    at = name_end;
    loop {
        // Before an attribute's name, or after its value.
        at = find(bytes, at, |byte| !is_space(byte))?;
        match bytes[at] {
            b'>' => return Some((tag, at + 1)),
            b'/' => {
                at += 1;
                if *bytes.get(at)? == b'>' {
                    tag.is_self_closing = true;
                    return Some((tag, at + 1));
                }
            }
            _ => at = scan_attribute(text, at, &mut tag)?,
        }
    }
}

/// Reads an attribute, and returns the index after it.
fn scan_attribute(text: &str, start: usize, tag: &mut Tag) -> Option<usize> {
    let bytes = text.as_bytes();
    // The first byte belongs to the name, even if it is `=`.
    let name_end = find(bytes, start + 1, |byte| {
        is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
    })?;
    let mut at = find(bytes, name_end, |byte| !is_space(byte))?;
    let mut value = name_end..name_end;
    let mut quote = None;
    if bytes[at] == b'=' {
        at = find(bytes, at + 1, |byte| !is_space(byte))?;
        let (found, end) = match bytes[at] {
            b'"' => (Quote::Double, find(bytes, at + 1, |byte| byte == b'"')?),
            b'\'' => (Quote::Single, find(bytes, at + 1, |byte| byte == b'\'')?),
            b'>' => (Quote::None, at),
            _ => {
                let is_end = |byte| is_space(byte) || byte == b'>';
                (Quote::None, find(bytes, at, is_end)?)
            }
        };
        let is_quoted = usize::from(found != Quote::None);
        value = at + is_quoted..end;
        at = end + is_quoted;
        quote = Some(found);
    }
    let name = &text[start..name_end];
    let mut known = ATTRIBUTES.split(' ');
    let known = known.find(|known| known.eq_ignore_ascii_case(name));
    if let (Some(name), quote) = (known, quote.unwrap_or(Quote::None))
        && tag.attribute(name).is_none()
    {
        tag.attributes.push(Attribute { name, value, quote });
    }
    Some(at)
}

fn find(bytes: &[u8], from: usize, matches: impl Fn(u8) -> bool) -> Option<usize> {
    let found = bytes.get(from..)?.iter().position(|&byte| matches(byte))?;
    Some(from + found)
}
