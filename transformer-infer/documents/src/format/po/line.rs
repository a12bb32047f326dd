//! [`Line`]: a line of a catalog, and its string with the escapes of C.

use std::borrow::Cow;
use std::fmt::Write;

use crate::Notation;
use crate::format::escapes::{escaped_by, letter_for};
use crate::format::value::Value;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) source: String,
    pub(super) kind: LineKind,
}

#[derive(Debug)]
pub(super) enum LineKind {
    Blank,
    /// A comment, including flags and obsolete messages.
    Comment,
    Field(Keyword, Quoted),
    /// A string that continues the previous one.
    More(Quoted),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Keyword {
    Context,
    Id,
    Plural,
    /// `msgstr`, or `msgstr[0]`.
    Singular,
    /// `msgstr[1]` and the like.
    Other,
}

#[derive(Debug)]
pub(super) struct Quoted {
    pub(super) text: String,
    /// The start of its opening quotation mark; `end` is the end of the closing one.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Line {
    /// Parses a line; the error is the problem with it.
    pub(super) fn parse(source: String) -> Result<Self, String> {
        let content = source.trim_start();
        let kind = if content.is_empty() {
            LineKind::Blank
        } else if content.starts_with('#') {
            LineKind::Comment
        } else {
            let start = source
                .find('"')
                .ok_or("expected a string in quotation marks")?;
            let keyword = source[..start].trim();
            let (text, len) = decode(&source[start..])?;
            let end = start + len;
            if !source[end..].trim().is_empty() {
                return Err("there is text after the end of a string".to_owned());
            }
            let quoted = Quoted { text, start, end };
            match keyword {
                "" => LineKind::More(quoted),
                _ => LineKind::Field(parse_keyword(keyword)?, quoted),
            }
        };
        Ok(Self { source, kind })
    }

    /// Declares UTF-8 in place of another charset.
    pub(super) fn recode(&mut self, charset: &str) {
        let declared = format!("charset={charset}");
        self.source = self.source.replace(&declared, "charset=UTF-8");
    }

    pub(super) fn is_flags(&self) -> bool {
        self.source.trim_start().starts_with("#,")
    }
}

fn parse_keyword(keyword: &str) -> Result<Keyword, String> {
    let number = keyword
        .strip_prefix("msgstr[")
        .and_then(|it| it.strip_suffix(']'));
    match keyword {
        "msgctxt" => Ok(Keyword::Context),
        "msgid" => Ok(Keyword::Id),
        "msgid_plural" => Ok(Keyword::Plural),
        "msgstr" | "msgstr[0]" => Ok(Keyword::Singular),
        _ if number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit())) => {
            Ok(Keyword::Other)
        }
        _ => Err("expected `msgctxt`, `msgid`, `msgid_plural` or `msgstr`".to_owned()),
    }
}

#[derive(Debug)]
pub(super) struct PoText;

impl Notation for PoText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut escaped = String::with_capacity(text.len());
        for char in text.chars() {
            push_escaped(char, &mut escaped);
        }
        Cow::Owned(escaped)
    }
}

fn push_escaped(char: char, escaped: &mut String) {
    if let Some(letter) = letter_for(char) {
        return escaped.extend(['\\', letter]);
    }
    match char {
        '\u{7}' => escaped.push_str("\\a"),
        '\u{b}' => escaped.push_str("\\v"),
        // Writing to a string does not fail.
        _ if char.is_ascii_control() => {
            let _ = write!(escaped, "\\{:03o}", u32::from(char));
        }
        _ => escaped.push(char),
    }
}

/// Spells a text as the lines of a string, each of which ends after `\n`.
pub(super) fn spell(text: &str, line_end: &str) -> Value {
    let mut value = Value::default();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let mut spelling = String::new();
        push_escaped(char, &mut spelling);
        if char == '\n' && chars.peek().is_some() {
            spelling = format!("{spelling}\"{line_end}\"");
        }
        value.push(char, &spelling);
    }
    value
}

/// Returns whether [`spell`] spells a text as several lines.
pub(super) fn has_lines(text: &str) -> bool {
    text.strip_suffix('\n').unwrap_or(text).contains('\n')
}

/// Decodes a string, and returns its length including quotation marks; the error is the problem with it.
pub(super) fn decode(source: &str) -> Result<(String, usize), String> {
    // Escapes with digits are bytes; a character may consist of several.
    let mut text: Vec<u8> = Vec::new();
    let mut chars = source.char_indices().peekable();
    chars.next();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => {
                let text = String::from_utf8(text);
                let text = text.map_err(|_| "the escapes of a string are not UTF-8".to_owned())?;
                return Ok((text, at + 1));
            }
            '\\' => {
                let rest = &source[at + 1..];
                let (byte, len) = decode_escape(rest)?;
                text.push(byte);
                chars.by_ref().take(len).for_each(drop);
            }
            _ => text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Err("a string does not end in its line".to_owned())
}

/// Decodes the escape after a backslash, and returns its length.
fn decode_escape(rest: &str) -> Result<(u8, usize), String> {
    let invalid = || {
        let shown: String = rest.chars().take(1).filter(|c| !c.is_control()).collect();
        format!("the escape `\\{shown}` is unknown")
    };
    let number = |start: usize, radix, most| {
        let digits = rest[start..].chars().take(most);
        let digits: String = digits.take_while(|c| c.is_digit(radix)).collect();
        let number = u8::from_str_radix(&digits, radix).map_err(|_| invalid())?;
        Ok((number, start + digits.len()))
    };
    let letter = rest.chars().next().ok_or_else(invalid)?;
    if let Some(char) = escaped_by(letter) {
        return Ok((char as u8, 1));
    }
    let byte = match letter {
        'a' => 7,
        'v' => 11,
        '\'' | '?' => letter as u8,
        'x' => return number(1, 16, 2),
        _ => return number(0, 8, 3),
    };
    Ok((byte, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_c() {
        let decoded = decode(r#""a\t\"\\\x41\101\n" rest"#).expect("it is valid");
        assert_eq!(decoded, ("a\t\"\\AA\n".to_owned(), 19));
    }

    #[test]
    fn characters_may_be_escaped_byte_by_byte() {
        assert_eq!(decode(r#""Ca\303\251""#), Ok(("Caé".to_owned(), 12)));
        let broken = decode(r#""\303""#);
        assert_eq!(
            broken,
            Err("the escapes of a string are not UTF-8".to_owned())
        );
    }

    #[test]
    fn an_unknown_escape_is_named() {
        assert_eq!(
            decode(r#""\q""#),
            Err("the escape `\\q` is unknown".to_owned())
        );
    }
}
