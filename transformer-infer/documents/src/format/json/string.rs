//! [`decode`]: the text of a JSON string; and [`JsonText`], the rules for writing text in one.

use std::borrow::Cow;
use std::fmt::Write;

use crate::Notation;
use crate::format::escapes::{escaped_by, letter_for};
use crate::format::value::Value;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct JsonText {
    /// True if characters beyond ASCII are written as `\uXXXX`, as in the source.
    is_ascii: bool,
    /// True if `/` is written as `\/`, as in the source.
    has_escaped_slashes: bool,
}

impl JsonText {
    /// Chooses the spelling of a valid string's source.
    pub(super) fn like(source: &str) -> Self {
        let has_escapes = source.contains("\\u");
        Self {
            is_ascii: has_escapes && source.is_ascii(),
            has_escaped_slashes: source.contains("\\/"),
        }
    }
}

impl Notation for JsonText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut escaped = String::with_capacity(text.len());
        for char in text.chars() {
            if let Some(letter) = letter_for(char) {
                escaped.extend(['\\', letter]);
                continue;
            }
            match char {
                '/' if self.has_escaped_slashes => escaped.push_str("\\/"),
                _ if char < ' ' || self.is_ascii && !char.is_ascii() => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        // Writing to a string does not fail.
                        let _ = write!(escaped, "\\u{unit:04x}");
                    }
                }
                _ => escaped.push(char),
            }
        }
        Cow::Owned(escaped)
    }
}

/// Decodes the text between the quotation marks of a valid string; `None` if it has half a surrogate pair.
pub(super) fn decode(source: &str) -> Option<Value> {
    let mut value = Value::default();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (char, len) = if first == '\\' {
            decode_escape(rest)?
        } else {
            (first, first.len_utf8())
        };
        let (spelling, after) = rest.split_at_checked(len)?;
        value.push(char, spelling);
        rest = after;
    }
    Some(value)
}

/// Decodes an escape at the start of the text, and also returns the length of its spelling.
fn decode_escape(text: &str) -> Option<(char, usize)> {
    let char = match text.as_bytes().get(1)? {
        b'u' => {
            let first = code_unit(text)?;
            let second = text.get(6..).and_then(code_unit);
            let second = second.filter(|_| (0xd800..0xdc00).contains(&first));
            let units = [Some(first), second].into_iter().flatten();
            let char = char::decode_utf16(units).next()?.ok()?;
            return Some((char, 6 * char.len_utf16()));
        }
        byte => escaped_by(char::from(*byte)).unwrap_or(char::from(*byte)),
    };
    Some((char, 2))
}

fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
