//! [`Pairs`]: reads files of keys and values.

use std::sync::{Arc, LazyLock};

use regex::{Match, Regex};

use crate::format::encoding::{Charset, HEAD_BYTES};
use crate::format::escapes::len_until_single_quote;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::quoted::{PlainYaml, QuotedText, Quotes, is_plain};
use crate::format::source::{MAX_RECORD_BYTES, Source, split_line_end};
use crate::format::value::Value;
use crate::{Notation, Part, ReadError};
use transformer_protection::kinds::pattern;

/// The kinds of files of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum PairKind {
    /// Properties of Java.
    Properties,
    /// Strings of iOS and macOS.
    Strings,
    /// YAML: resources of Rails and others.
    Yaml,
}

/// A reader of files of keys and values: the values are passages, and everything else is copied.
#[derive(Debug)]
pub(in crate::format) struct Pairs {
    kind: PairKind,
    charset: Charset,
    /// True inside of a comment of several lines.
    is_comment: bool,
    /// The indentation of the key of a block of YAML.
    block: Option<usize>,
    /// The line of YAML after the last record, if it has been read.
    next: Option<String>,
    /// True if the file has characters beyond ASCII, as far as it has been read.
    has_raw: bool,
}

/// The key of a property, with the spaces and the sign after it.
static PROPERTY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^[ \t\f]*(?:[^\s#!=:\\]|\\.)(?:[^\s=:\\]|\\.)*(?:[ \t\f]*[=:]|[ \t\f])[ \t\f]*")
});

/// The key of a string of Apple, up to the quotation mark of its value.
static STRING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^\s*(?:/\*.*?\*/\s*)*(?:"(?:[^"\\]|\\.)*"|[\w.-]+)\s*=\s*""#));

/// The key of a value of YAML, with the spaces after it; or the sign of an item.
static YAML: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^\s*(?:- +)*(?:(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w./$-](?:[^:#\n]|:\S)*?) *:[ \t]+|- +)"#,
    )
});

/// The end of a line of YAML before a block.
static BLOCK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?::|^[ ]*(?:- +)*-)[ \t]+[|>][-+0-9]*[ \t]*(?:[ \t]#.*)?\r?\n?$"));

impl Pairs {
    pub(in crate::format) fn new(kind: PairKind, charset: Charset) -> Self {
        Self {
            kind,
            charset,
            is_comment: false,
            block: None,
            next: None,
            has_raw: false,
        }
    }

    /// Returns whether the record that begins with this line goes on in the next one.
    fn begins(&self, line: &str) -> bool {
        match self.kind {
            PairKind::Properties => {
                self.goes_on(line) && !line.trim_start().starts_with(['#', '!'])
            }
            PairKind::Strings => {
                let key = STRING.find(line);
                key.is_some_and(|it| self.goes_on(&line[it.end()..]))
            }
            PairKind::Yaml => false,
        }
    }

    /// Returns whether a record goes on after this part of it, up to the end of a line.
    fn goes_on(&self, text: &str) -> bool {
        match self.kind {
            PairKind::Properties => {
                let line = split_line_end(text).0;
                let n_slashes = line.len() - line.trim_end_matches('\\').len();
                n_slashes % 2 == 1
            }
            PairKind::Strings => len_until_quote(text).is_none(),
            PairKind::Yaml => false,
        }
    }

    /// Reads the line of YAML after a record, and the blank lines before it, which it returns. If the line continues
    /// the value, it and the record are copied.
    fn read_next(&mut self, source: &mut Source, record: &str) -> Result<String, ReadError> {
        let mut blank = String::new();
        let has_value = |key: &Match<'_>| key.end() < record.trim_end().len();
        let Some(key) = YAML.find(record).filter(has_value) else {
            return Ok(blank);
        };
        while let Some(line) = source.next_line()? {
            if line.trim().is_empty() && blank.len() < MAX_RECORD_BYTES {
                blank.push_str(&line);
                continue;
            }
            let column = column(record, key.end());
            if indent(&line) > column && !line.trim_start().starts_with('#') {
                self.block = Some(column);
            }
            self.next = Some(line);
            break;
        }
        Ok(blank)
    }

    /// Returns whether a line is copied: a comment, or a block of YAML.
    fn is_copied(&mut self, line: &str) -> bool {
        let content = line.trim();
        match self.kind {
            PairKind::Properties => false,
            PairKind::Strings => {
                let begins = !self.is_comment && content.starts_with("/*");
                let was_inside = self.is_comment || begins;
                if begins && STRING.is_match(line) {
                    return false;
                }
                self.is_comment = was_inside && !content.contains("*/");
                was_inside || content.starts_with("//")
            }
            PairKind::Yaml => {
                let is_in_block = |block: usize| content.is_empty() || indent(line) > block;
                if self.block.is_some_and(is_in_block) {
                    return true;
                }
                let value = YAML.find(line).map_or("", |it| &line[it.end()..]);
                let is_block = value.starts_with(['|', '>', '&', '*', '!', '{', '['])
                    || value.starts_with(['"', '\'']) && quoted(value).is_none()
                    || BLOCK.is_match(line);
                let is_empty = YAML.is_match(line) && value.trim().is_empty();
                let is_comment = content.starts_with('#');
                // An empty value has keys below it, which are read.
                self.block = (is_block && !is_empty && !is_comment)
                    .then(|| column(line, line.len() - value.len()));
                is_comment || is_block || is_empty
            }
        }
    }

    /// Returns the start and the end of the value in a record, and its quotation marks.
    fn value(&self, record: &str) -> Option<(usize, usize, Quotes)> {
        let (key, content) = match self.kind {
            PairKind::Properties => (&PROPERTY, split_line_end(record).0),
            PairKind::Strings => (&STRING, record),
            PairKind::Yaml => (&YAML, record.trim_end()),
        };
        let mut start = key.find(content)?.end();
        // Spaces at the start of a property stay escaped.
        while self.kind == PairKind::Properties && content[start..].starts_with("\\ ") {
            start += 2;
        }
        let value = &content[start..];
        match self.kind {
            PairKind::Properties => Some((start, content.len(), Quotes::Properties)),
            PairKind::Strings => Some((start, start + len_until_quote(value)?, Quotes::Double)),
            PairKind::Yaml => match value.chars().next()? {
                '"' => Some((start + 1, start + 1 + quoted(value)?, Quotes::DoubleYaml)),
                '\'' => Some((start + 1, start + 1 + quoted(value)?, Quotes::Twice('\''))),
                _ => {
                    let text = value.split(" #").next().unwrap_or_default().trim_end();
                    is_plain(text).then_some((start, start + text.len(), Quotes::Plain))
                }
            },
        }
    }

    fn notation(&self, record: &str, quotes: Quotes) -> Arc<dyn Notation> {
        let has = |escape| record.is_ascii() && record.contains(escape);
        let is_ascii = match quotes {
            Quotes::Properties => !self.has_raw || self.charset != Charset::UTF_8 || has("\\u"),
            Quotes::DoubleYaml => has("\\u") || has("\\U") || has("\\x"),
            _ => has("\\u"),
        };
        let text: Arc<dyn Notation> = Arc::new(QuotedText { quotes, is_ascii });
        match quotes {
            Quotes::Plain => Arc::new(PlainYaml(text)),
            _ => text,
        }
    }
}

impl ReadParts for Pairs {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        if self.kind == PairKind::Properties && source.n_read() == 0 {
            self.has_raw = !source.text().is_ascii();
        }
        let number = source.n_read() + 1;
        let line = match self.next.take() {
            Some(line) => Some(line),
            None => source.next_line()?,
        };
        let Some(mut record) = line else {
            return Ok(false);
        };
        source.check_line_ends(&record)?;
        if self.is_copied(&record) {
            parts.push_verbatim(&record);
            return Ok(true);
        }
        let mut goes_on = self.begins(&record);
        while goes_on && let Some(line) = source.next_line()? {
            goes_on = self.goes_on(&line);
            record.push_str(&line);
            if record.len() > MAX_RECORD_BYTES {
                return Err(source.too_large(number, "the value"));
            }
        }
        let blank = match self.kind {
            PairKind::Yaml => self.read_next(source, &record)?,
            _ => String::new(),
        };
        if self.block.is_some() {
            parts.push_verbatim(&(record + &blank));
            return Ok(true);
        }
        self.has_raw |= !record.is_ascii();
        let found = self.value(&record);
        let decoded = found.and_then(|it| Some((it, it.2.decode(&record[it.0..it.1])?)));
        let Some(((start, end, quotes), value)) = decoded else {
            parts.push_verbatim(&(record + &blank));
            return Ok(true);
        };
        let notation = self.notation(&record, quotes);
        parts.push_verbatim(&record[..start]);
        let mut found = PartQueue::default();
        value.push_parts(&notation, &mut found);
        let found = found.into_parts();
        let is_one = matches!(found[..], [Part::Passage(_)]);
        // Quotation marks cannot be around a part of the value.
        match quotes == Quotes::Plain && !is_one {
            true => parts.push_verbatim(&record[start..end]),
            false => parts.extend(found),
        }
        let mut at = end;
        while self.kind == PairKind::Strings
            && let Some((start, end, value)) = string_after(&record, at)
        {
            parts.push_verbatim(&record[at..start]);
            value.push_parts(&notation, parts);
            at = end;
        }
        parts.push_verbatim(&(record.split_off(at) + &blank));
        Ok(true)
    }
}

/// Returns the start, the end and the content of the string of Apple after the one that ends at `at`.
fn string_after(record: &str, at: usize) -> Option<(usize, usize, Value)> {
    let from = at + record[at..].find(';')? + 1;
    let start = from + STRING.find(&record[from..])?.end();
    let end = start + len_until_quote(&record[start..])?;
    Some((start, end, Quotes::Double.decode(&record[start..end])?))
}

/// Returns the encoding of properties by their first bytes: UTF-8, or else ISO 8859-1, as in Java up to version 8.
pub(in crate::format) fn encoding_of_properties(head: &[u8]) -> Option<Charset> {
    let error = std::str::from_utf8(head).err()?;
    // The first bytes may end within a character.
    let is_cut = error.error_len().is_none() && head.len() as u64 == HEAD_BYTES;
    (!is_cut).then_some(Charset::LATIN_1)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the column of the key of YAML before a value, or that of its item if it has no key.
fn column(line: &str, value: usize) -> usize {
    let key = line[..value].trim_start_matches([' ', '-']);
    match key.is_empty() {
        true => indent(line),
        false => value - key.len(),
    }
}

/// Returns the number of bytes before the quotation mark that is not escaped.
fn len_until_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Returns the number of bytes between the quotation marks of a value of YAML, if it ends in its line.
fn quoted(value: &str) -> Option<usize> {
    let inside = &value[1..];
    let len = match value.starts_with('"') {
        true => len_until_quote(inside)?,
        false => len_until_single_quote(inside)?,
    };
    let after = inside[len + 1..].trim();
    (after.is_empty() || after.starts_with('#')).then_some(len)
}
