//! [`Json`]: reads JSON.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::grammar::{Expected, Grammar, MAX_DEPTH};
use super::grammar::{JsonOptions, Selection};
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::quoted::{QuotedText, Quotes};
use crate::format::source::{MAX_RECORD_BYTES, Source};
use crate::{Notation, ReadError};
use transformer_protection::kinds::pattern;

const REMEDY: &str = "correct the file; any JSON checker shows the same position";

const MAX_NUMBER_BYTES: usize = 4096;

/// Numbers and literals of RFC 8259.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?-u:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$")
});

/// A reader of JSON (RFC 8259). String values are passages; keys, numbers, spaces and the rest are verbatim. Line ends
/// inside a string are breaks, and blank lines end a passage. A string with half a surrogate pair is verbatim.
#[derive(Debug)]
pub(in crate::format) struct Json {
    options: JsonOptions,
    grammar: Grammar,
}

impl Json {
    pub(in crate::format) fn new(options: JsonOptions) -> Self {
        Self {
            grammar: Grammar::new(Selection::new(&options)),
            options,
        }
    }
}

impl ReadParts for Json {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let Some(byte) = source.byte(0)? else {
            if self.grammar.is_complete() {
                return Ok(false);
            }
            return Err(self.unexpected(source, "the end of the file"));
        };
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => parts.push_verbatim(&source.take(1)),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                if !self.grammar.punctuate(byte) {
                    return Err(self.unexpected_byte(source, byte));
                }
                if self.grammar.is_too_deep() {
                    let problem =
                        format!("objects and arrays are nested more than {MAX_DEPTH} deep");
                    return Err(source.error_at(0, problem, "divide the file"));
                }
                parts.push_verbatim(&source.take(1));
            }
            b'"' if matches!(self.grammar.expected, Expected::Key | Expected::KeyOrEnd) => {
                let key = read_string(source)?;
                let text = Quotes::json(&key).decode(&key);
                let text = text.as_ref().map_or(key.as_str(), |value| value.text());
                self.grammar.selection = self.grammar.outer_selection().below(text, &self.options);
                self.grammar.expected = Expected::Colon;
                push_quoted(parts, |parts| parts.push_verbatim(&key));
            }
            b'"' if self.grammar.expects_value() => {
                let source = read_string(source)?;
                let is_translated = self.grammar.selection.is_translated();
                self.grammar.end_value();
                let quotes = Quotes::json(&source);
                push_quoted(parts, |parts| match quotes.decode(&source) {
                    Some(value) if is_translated => {
                        let is_ascii = source.is_ascii() && source.contains("\\u");
                        let notation: Arc<dyn Notation> = Arc::new(QuotedText { quotes, is_ascii });
                        value.push_parts(&notation, parts);
                    }
                    _ => parts.push_verbatim(&source),
                });
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if self.grammar.expects_value() => {
                parts.push_verbatim(&read_word(source)?);
                self.grammar.end_value();
            }
            _ => return Err(self.unexpected_byte(source, byte)),
        }
        Ok(true)
    }
}

impl Json {
    fn unexpected_byte(&self, source: &Source, byte: u8) -> ReadError {
        if byte.is_ascii_graphic() {
            self.unexpected(source, &format!("`{}`", char::from(byte)))
        } else {
            self.unexpected(source, "another character")
        }
    }

    fn unexpected(&self, source: &Source, found: &str) -> ReadError {
        let expected = self.grammar.description();
        let problem = format!("expected {expected}, found {found}");
        source.error_at(0, problem, REMEDY)
    }
}

/// Takes a string and returns the source between its quotation marks.
fn read_string(source: &mut Source) -> Result<String, ReadError> {
    let mut at = 1;
    loop {
        match byte_of_string(source, at)? {
            b'"' => break,
            0..0x20 => {
                return Err(source.error_at(at, "a control character is in a string", REMEDY));
            }
            b'\\' => at += len_of_escape(source, at)?,
            _ => at += 1,
        }
        if at - 1 > MAX_RECORD_BYTES {
            let problem = format!(
                "a string that begins here has more than {MAX_RECORD_BYTES} bytes, the limit"
            );
            let remedy = "check that its end is not missing, and divide it";
            return Err(source.error_at(0, problem, remedy));
        }
    }
    Ok(source.take(at + 1)[1..at].to_owned())
}

fn len_of_escape(source: &mut Source, at: usize) -> Result<usize, ReadError> {
    let letter = byte_of_string(source, at + 1)?;
    if !b"\"\\/bfnrtu".contains(&letter) {
        let problem = "expected an escape such as `\\n` or `\\u00e9`";
        return Err(source.error_at(at + 1, problem, REMEDY));
    }
    let len = if letter == b'u' { 6 } else { 2 };
    for digit in at + 2..at + len {
        if !byte_of_string(source, digit)?.is_ascii_hexdigit() {
            let problem = "expected four hexadecimal digits after `\\u`";
            return Err(source.error_at(digit, problem, REMEDY));
        }
    }
    Ok(len)
}

fn byte_of_string(source: &mut Source, at: usize) -> Result<u8, ReadError> {
    let byte = source.byte(at)?;
    byte.ok_or_else(|| source.error_at(at, "the file ends inside of a string", REMEDY))
}

fn read_word(source: &mut Source) -> Result<String, ReadError> {
    let invalid =
        |word: &str| format!("expected a number, `true`, `false` or `null`, found `{word}`");
    let mut len = 0;
    while let Some(byte) = source.byte(len)?
        && (byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        if len > MAX_NUMBER_BYTES {
            return Err(source.error_at(0, invalid("a long word"), REMEDY));
        }
        len += 1;
    }
    let word = &source.text()[..len];
    if WORD.is_match(word) {
        return Ok(source.take(len));
    }
    Err(source.error_at(len, invalid(&word[..len.min(40)]), REMEDY))
}

fn push_quoted(parts: &mut PartQueue, push: impl FnOnce(&mut PartQueue)) {
    parts.push_verbatim("\"");
    push(parts);
    parts.push_verbatim("\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_rfc_8259() {
        let valid = ["0", "-0", "10.5e+7", "1E9", "0.0"];
        assert!(valid.iter().all(|word| WORD.is_match(word)));
        let invalid = ["", "-", "01", "1.", ".5", "1e", "+1", "1e+-1", "--1"];
        assert!(!invalid.iter().any(|word| WORD.is_match(word)));
    }
}
