//! [`Pairs`]: reads files of keys and values.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::text::{PairText, PlainYaml, Quotes, is_plain};
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::{MAX_RECORD_BYTES, Source, split_line_end};
use crate::kinds::pattern;
use crate::{Notation, ReadError};

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
    /// True inside of a comment of several lines.
    is_comment: bool,
    /// The indentation of the key of a block of YAML.
    block: Option<usize>,
}

/// The key of a property, with the spaces and the sign after it.
static PROPERTY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^[ \t\f]*(?:[^\s#!=:\\]|\\.)(?:[^\s=:\\]|\\.)*(?:[ \t\f]*[=:]|[ \t\f])[ \t\f]*")
});

/// The key of a string of Apple, up to the quotation mark of its value.
static STRING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^\s*(?:"(?:[^"\\]|\\.)*"|[\w.-]+)\s*=\s*""#));

/// The key of a value of YAML, with the spaces after it; or the sign of an item.
static YAML: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^\s*(?:- +)*(?:(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w./-][^:#\s"']*) *:[ \t]+|- +)"#)
});

impl Pairs {
    pub(in crate::format) fn new(kind: PairKind) -> Self {
        Self {
            kind,
            is_comment: false,
            block: None,
        }
    }

    /// Returns whether a record goes on in the next line.
    fn goes_on(&self, record: &str) -> bool {
        match self.kind {
            PairKind::Properties => {
                let line = split_line_end(record).0;
                let n_slashes = line.len() - line.trim_end_matches('\\').len();
                n_slashes % 2 == 1 && !record.trim_start().starts_with(['#', '!'])
            }
            PairKind::Strings => STRING
                .find(record)
                .is_some_and(|it| len_until_quote(&record[it.end()..]).is_none()),
            PairKind::Yaml => false,
        }
    }

    /// Returns whether a line is copied: a comment, or a block of YAML.
    fn is_copied(&mut self, line: &str) -> bool {
        let content = line.trim();
        match self.kind {
            PairKind::Properties => false,
            PairKind::Strings => {
                let begins = !self.is_comment && content.starts_with("/*");
                let was_inside = self.is_comment || begins;
                self.is_comment = was_inside && !content.contains("*/");
                was_inside || content.starts_with("//")
            }
            PairKind::Yaml => {
                let indent = line.len() - line.trim_start_matches(' ').len();
                let is_in_block = |block: usize| content.is_empty() || indent > block;
                if self.block.is_some_and(is_in_block) {
                    return true;
                }
                let value = YAML.find(line).map_or("", |it| &line[it.end()..]);
                let is_block = value.starts_with(['|', '>', '&', '*', '!', '{', '['])
                    || value.starts_with(['"', '\'']) && quoted(value).is_none()
                    || YAML.find(line).is_some() && value.trim().is_empty();
                // An empty value has keys below it, which are read.
                let key = line[..line.len() - value.len()].trim_start_matches([' ', '-']);
                let of_key = match key.is_empty() {
                    true => indent,
                    false => line.len() - value.len() - key.len(),
                };
                self.block = (is_block && !value.trim().is_empty()).then_some(of_key);
                content.starts_with('#') || is_block
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
        let start = key.find(content)?.end();
        let value = &content[start..];
        match self.kind {
            PairKind::Properties => Some((start, content.len(), Quotes::Properties)),
            PairKind::Strings => Some((start, start + len_until_quote(value)?, Quotes::Double)),
            PairKind::Yaml => match value.chars().next()? {
                '"' => Some((start + 1, start + 1 + quoted(value)?, Quotes::Double)),
                '\'' => Some((start + 1, start + 1 + quoted(value)?, Quotes::Single)),
                _ => {
                    let text = value.split(" #").next().unwrap_or_default().trim_end();
                    is_plain(text).then_some((start, start + text.len(), Quotes::Plain))
                }
            },
        }
    }
}

impl ReadParts for Pairs {
    fn read_parts(
        &mut self,
        source: &mut Source,
        parts: &mut PartQueue,
    ) -> Result<bool, ReadError> {
        let number = source.n_read() + 1;
        let Some(mut record) = source.next_line()? else {
            return Ok(false);
        };
        if self.is_copied(&record) {
            parts.push_verbatim(&record);
            return Ok(true);
        }
        while self.goes_on(&record)
            && let Some(line) = source.next_line()?
        {
            record.push_str(&line);
            if record.len() > MAX_RECORD_BYTES {
                return Err(source.too_large(number, "the value"));
            }
        }
        let found = self.value(&record);
        let decoded = found.and_then(|it| Some((it, it.2.decode(&record[it.0..it.1])?)));
        let Some(((start, end, quotes), value)) = decoded else {
            parts.push_verbatim(&record);
            return Ok(true);
        };
        let text = PairText {
            quotes,
            is_ascii: record.contains("\\u") && record.is_ascii(),
        };
        let notation: Arc<dyn Notation> = match quotes {
            Quotes::Plain => Arc::new(PlainYaml(Arc::new(text))),
            _ => Arc::new(text),
        };
        parts.push_verbatim(&record[..start]);
        value.push_parts(&notation, parts);
        parts.push_verbatim(&record[end..]);
        Ok(true)
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
        false => {
            let mut at = 0;
            loop {
                at += inside[at..].find('\'')?;
                match inside[at + 1..].starts_with('\'') {
                    true => at += 2,
                    false => break at,
                }
            }
        }
    };
    let after = inside[len + 1..].trim();
    (after.is_empty() || after.starts_with('#')).then_some(len)
}
