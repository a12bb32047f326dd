//! [`Quotes`] around values, which decode them, and [`QuotedText`], the rules for writing text between them.

use std::borrow::Cow;
use std::fmt::Write;

use super::escapes::{escaped_by, letter_for};
use super::value::Value;
use crate::Notation;

/// The quotation marks around a value, with the notation between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Values of properties, which end with their line.
    Properties,
    /// Double quotation marks, with escapes of C.
    Double,
    /// Double quotation marks of JSON.
    Json {
        /// True if `/` is written as `\/`, as in the source.
        escapes_slashes: bool,
    },
    /// Double quotation marks of YAML, with its escapes.
    DoubleYaml,
    /// Quotation marks that are written twice inside: single ones of YAML, double ones of CSV.
    Twice(char),
    /// YAML without quotation marks.
    Plain,
}

#[derive(Debug)]
pub(super) struct QuotedText {
    pub(super) quotes: Quotes,
    /// True if characters beyond ASCII are written as escapes.
    pub(super) is_ascii: bool,
}

impl Notation for QuotedText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.quotes {
            Quotes::Plain => return Cow::Borrowed(text),
            Quotes::Twice(quote) => return text.replace(quote, &format!("{quote}{quote}")).into(),
            Quotes::Properties | Quotes::Double | Quotes::DoubleYaml | Quotes::Json { .. } => {}
        }
        let mut escaped = String::with_capacity(text.len());
        for char in text.chars() {
            let letter = match (char, self.quotes) {
                ('"', Quotes::Properties) => None,
                ('/', Quotes::Json { escapes_slashes }) => escapes_slashes.then_some('/'),
                _ => letter_for(char),
            };
            let is_hidden = match self.quotes {
                Quotes::DoubleYaml => is_hidden(char),
                Quotes::Json { .. } => char < ' ',
                _ => false,
            };
            let needs_code = is_hidden || self.is_ascii && !char.is_ascii();
            match letter {
                Some(letter) => escaped.extend(['\\', letter]),
                // Writing to a string does not fail.
                None if needs_code && self.quotes == Quotes::DoubleYaml => {
                    let _ = match u32::from(char) {
                        code @ ..0x1_0000 => write!(escaped, "\\u{code:04x}"),
                        code => write!(escaped, "\\U{code:08x}"),
                    };
                }
                None if needs_code => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        let _ = write!(escaped, "\\u{unit:04x}");
                    }
                }
                None => escaped.push(char),
            }
        }
        Cow::Owned(escaped)
    }
}

impl Quotes {
    /// Returns the quotation marks of a string of JSON, given its source.
    pub(super) fn json(source: &str) -> Self {
        Self::Json {
            escapes_slashes: source.contains("\\/"),
        }
    }

    /// Returns the text of a value with its spelling; `None` if it has an escape that stands for no character.
    pub(super) fn decode(self, source: &str) -> Option<Value> {
        let mut value = Value::default();
        let mut rest = source;
        // What stands for no character goes with the next one.
        let mut start = 0;
        while let Some(first) = rest.chars().next() {
            let (char, len) = match (self, first) {
                (Self::Twice(quote), first) if first == quote => (Some(quote), 2),
                (Self::Properties | Self::Double | Self::Json { .. }, '\\') => escape(rest)?,
                (Self::DoubleYaml, '\\') => {
                    let (char, len) = yaml_escape(rest)?;
                    (Some(char), len)
                }
                _ => (Some(first), first.len_utf8()),
            };
            rest = rest.get(len..)?;
            let end = source.len() - rest.len();
            if let Some(char) = char {
                value.push(char, &source[start..end]);
                start = end;
            }
        }
        (start == source.len()).then_some(value)
    }
}

/// Returns the character of an escape, and its length. A line end has none, with the spaces after it.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let letter = text[1..].chars().next()?;
    match letter {
        '\r' | '\n' => {
            let after = text[1..].trim_start_matches(['\r', '\n', ' ', '\t']);
            Some((None, text.len() - after.len()))
        }
        'u' | 'U' => {
            let unit = |at: usize| {
                let escape = text.get(at..)?.strip_prefix('\\')?;
                let digits = escape.strip_prefix(['u', 'U'])?.get(..4)?;
                hexadecimal(digits).map(|unit| unit as u16)
            };
            let first = unit(0)?;
            let second = unit(6).filter(|_| (0xd800..0xdc00).contains(&first));
            let units = [Some(first), second].into_iter().flatten();
            let char = char::decode_utf16(units).next()?.ok()?;
            Some((Some(char), 6 * char.len_utf16()))
        }
        'x' | '0'..='9' => None,
        _ => Some((
            Some(escaped_by(letter).unwrap_or(letter)),
            1 + letter.len_utf8(),
        )),
    }
}

/// Returns the number that hexadecimal digits stand for.
pub(super) fn hexadecimal(digits: &str) -> Option<u32> {
    // `from_str_radix` takes a sign, too.
    let are_digits = digits.bytes().all(|it| it.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

fn yaml_escape(text: &str) -> Option<(char, usize)> {
    let letter = text[1..].chars().next()?;
    let code = |n_digits: usize| {
        let digits = text.get(2..2 + n_digits)?;
        Some((char::from_u32(hexadecimal(digits)?)?, 2 + n_digits))
    };
    let char = match letter {
        'x' => return code(2),
        'u' => return code(4),
        'U' => return code(8),
        '0' => '\0',
        'a' => '\u{7}',
        'e' => '\u{1b}',
        'v' => '\u{b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '/' => letter,
        '\t' => '\t',
        _ => escaped_by(letter)?,
    };
    Some((char, 1 + letter.len_utf8()))
}

/// Returns whether YAML allows a character only as an escape, or reads it as a line end.
fn is_hidden(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Completes a plain value of YAML, which needs quotation marks if it would mean something else.
#[derive(Debug)]
pub(super) struct PlainYaml(pub(super) std::sync::Arc<dyn Notation>);

impl Notation for PlainYaml {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.escape(text)
    }

    fn complete(&self, written: String) -> String {
        match is_plain(&self.0.complete(written.clone())) {
            true => written,
            false => {
                let text = QuotedText {
                    quotes: Quotes::DoubleYaml,
                    is_ascii: false,
                };
                format!("\"{}\"", text.escape(&written))
            }
        }
    }
}

/// Returns whether a text in one line of YAML is a string without quotation marks.
pub(super) fn is_plain(text: &str) -> bool {
    let special = "!&*{}[],#|>@`\"'%?:-~=<.+";
    let is_number = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(' ');
    let is_word = |words: &[&str]| words.iter().any(|it| text.eq_ignore_ascii_case(it));
    !text.starts_with(|c| special.contains(c))
        && !is_number
        && text.trim().len() == text.len()
        && !text.is_empty()
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(":\t")
        && !text.contains(is_hidden)
        && !text.ends_with(':')
        && !is_word(&["true", "false", "yes", "no", "on", "off", "y", "n", "null"])
}
