//! [`JsonReader`]: reads JSON.

use std::io::Read;
use std::sync::Arc;

use super::filter::Selection;
use super::grammar::{Expected, Grammar, MAX_DEPTH};
use super::options::JsonOptions;
use super::scanner::Scanner;
use super::string::{JsonText, decode};
use crate::format::lines::MAX_RECORD_BYTES;
use crate::format::parts::{PartQueue, Parts, ReadParts};
use crate::{Notation, Part, ReadError};

const REMEDY: &str = "correct the file; any JSON checker shows the same position";

/// Maximum length of a number, in bytes.
const MAX_NUMBER_BYTES: usize = 4096;

/// A reader of JSON (RFC 8259).
///
/// String values are passages; keys, numbers, spaces and the rest are verbatim. Line ends inside a string are breaks,
/// and blank lines end a passage. A string with half a surrogate pair is verbatim.
#[derive(Debug)]
pub struct JsonReader(Parts<Json>);

#[derive(Debug)]
struct Json {
    scanner: Scanner,
    options: JsonOptions,
    grammar: Grammar,
    is_start: bool,
}

impl JsonReader {
    /// Reads from a stream. `name` is the document in error messages.
    ///
    /// # Errors
    ///
    /// Never fails: all errors come from the iterator.
    pub fn new(
        name: String,
        input: impl Read + Send + 'static,
        options: JsonOptions,
    ) -> Result<Self, ReadError> {
        Ok(Self(Parts::new(Json {
            scanner: Scanner::new(name, input),
            grammar: Grammar::new(Selection::new(&options)),
            options,
            is_start: true,
        })))
    }
}

impl Iterator for JsonReader {
    type Item = Result<Part, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl ReadParts for Json {
    fn read_parts(&mut self, parts: &mut PartQueue) -> Result<bool, ReadError> {
        if std::mem::take(&mut self.is_start) {
            self.read_byte_order_mark(parts)?;
        }
        let Some(byte) = self.scanner.peek()? else {
            if self.grammar.is_complete() {
                return Ok(false);
            }
            return Err(self.unexpected("the end of the file"));
        };
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => self.copy(byte, parts),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                if !self.grammar.punctuate(byte) {
                    return Err(self.unexpected_byte(byte));
                }
                if self.grammar.is_too_deep() {
                    let problem =
                        format!("objects and arrays are nested more than {MAX_DEPTH} deep");
                    return Err(self.scanner.error(problem, "divide the file"));
                }
                self.copy(byte, parts);
            }
            b'"' if matches!(self.grammar.expected, Expected::Key | Expected::KeyOrEnd) => {
                let key = self.read_string()?;
                let text = decode(&key);
                let text = text.as_ref().map_or(key.as_str(), |value| value.text());
                self.grammar.selection = self.grammar.outer_selection().below(text, &self.options);
                self.grammar.expected = Expected::Colon;
                push_quoted(parts, |parts| parts.push_verbatim(&key));
            }
            b'"' if self.grammar.expects_value() => {
                let source = self.read_string()?;
                let is_translated = self.grammar.selection.is_translated();
                self.grammar.end_value();
                push_quoted(parts, |parts| match decode(&source) {
                    Some(value) if is_translated => {
                        let notation: Arc<dyn Notation> = Arc::new(JsonText::like(&source));
                        value.push_parts(&notation, parts);
                    }
                    _ => parts.push_verbatim(&source),
                });
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if self.grammar.expects_value() => {
                let word = self.read_word()?;
                self.grammar.end_value();
                parts.push_verbatim(&word);
            }
            _ => return Err(self.unexpected_byte(byte)),
        }
        Ok(true)
    }
}

impl Json {
    /// Copies a byte of ASCII.
    fn copy(&mut self, byte: u8, parts: &mut PartQueue) {
        self.scanner.skip(byte);
        parts.push_verbatim(char::from(byte).encode_utf8(&mut [0; 4]));
    }

    fn read_byte_order_mark(&mut self, parts: &mut PartQueue) -> Result<(), ReadError> {
        if self.scanner.peek()? != Some(0xef) {
            return Ok(());
        }
        for expected in "\u{feff}".bytes() {
            match self.scanner.peek()? {
                Some(byte) if byte == expected => self.scanner.skip(byte),
                _ => return Err(self.unexpected("another character")),
            }
        }
        parts.push_verbatim("\u{feff}");
        Ok(())
    }

    /// Reads a string and returns the source between its quotation marks.
    fn read_string(&mut self) -> Result<String, ReadError> {
        let start = self.scanner.error(
            format_args!(
                "a string that begins here has more than {MAX_RECORD_BYTES} bytes, the limit"
            ),
            "check that its end is not missing, and divide it",
        );
        self.scanner.skip(b'"');
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek_in("a string")?;
            match byte {
                b'"' => break,
                0..0x20 => {
                    return Err(self
                        .scanner
                        .error("a control character is in a string", REMEDY));
                }
                b'\\' => self.read_escape(&mut bytes)?,
                _ => {
                    self.scanner.skip(byte);
                    bytes.push(byte);
                }
            }
            if bytes.len() > MAX_RECORD_BYTES {
                return Err(start);
            }
        }
        let string = String::from_utf8(bytes).map_err(|_| {
            self.scanner.error(
                "the string that ends here is not UTF-8",
                self.scanner.utf8_remedy(),
            )
        })?;
        self.scanner.skip(b'"');
        Ok(string)
    }

    fn read_escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        self.scanner.skip(b'\\');
        bytes.push(b'\\');
        let byte = self.peek_in("a string")?;
        if !b"\"\\/bfnrtu".contains(&byte) {
            return Err(self
                .scanner
                .error("expected an escape such as `\\n` or `\\u00e9`", REMEDY));
        }
        self.scanner.skip(byte);
        bytes.push(byte);
        if byte == b'u' {
            for _ in 0..4 {
                let digit = self.peek_in("a string")?;
                if !digit.is_ascii_hexdigit() {
                    return Err(self
                        .scanner
                        .error("expected four hexadecimal digits after `\\u`", REMEDY));
                }
                self.scanner.skip(digit);
                bytes.push(digit);
            }
        }
        Ok(())
    }

    /// Reads a number, `true`, `false` or `null`.
    fn read_word(&mut self) -> Result<String, ReadError> {
        let invalid =
            |word: &str| format!("expected a number, `true`, `false` or `null`, found `{word}`");
        let start = self.scanner.error(invalid("a long word"), REMEDY);
        let mut word = String::new();
        while let Some(byte) = self.scanner.peek()? {
            if !(byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
                break;
            }
            if word.len() > MAX_NUMBER_BYTES {
                return Err(start);
            }
            self.scanner.skip(byte);
            word.push(char::from(byte));
        }
        if ["true", "false", "null"].contains(&word.as_str()) || is_number(&word) {
            Ok(word)
        } else {
            let shown = &word[..word.len().min(40)];
            Err(self.scanner.error(invalid(shown), REMEDY))
        }
    }

    fn peek_in(&mut self, token: &str) -> Result<u8, ReadError> {
        let byte = self.scanner.peek()?;
        byte.ok_or_else(|| {
            self.scanner
                .error(format_args!("the file ends inside of {token}"), REMEDY)
        })
    }

    fn unexpected_byte(&self, byte: u8) -> ReadError {
        if byte.is_ascii_graphic() {
            self.unexpected(&format!("`{}`", char::from(byte)))
        } else {
            self.unexpected("another character")
        }
    }

    fn unexpected(&self, found: &str) -> ReadError {
        let expected = self.grammar.description();
        self.scanner
            .error(format_args!("expected {expected}, found {found}"), REMEDY)
    }
}

fn push_quoted(parts: &mut PartQueue, push: impl FnOnce(&mut PartQueue)) {
    parts.push_verbatim("\"");
    push(parts);
    parts.push_verbatim("\"");
}

/// Returns whether a word is a number of JSON: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
fn is_number(word: &str) -> bool {
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        Some((integer, fraction)) => (integer, Some(fraction)),
        None => (mantissa, None),
    };
    are_digits(integer)
        && (integer == "0" || !integer.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|text| are_digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_rfc_8259() {
        let valid = ["0", "-0", "10.5e+7", "1E9", "0.0"];
        assert!(valid.iter().all(|word| is_number(word)));
        let invalid = ["", "-", "01", "1.", ".5", "1e", "+1", "1e+-1", "--1"];
        assert!(!invalid.iter().any(|word| is_number(word)));
    }
}
