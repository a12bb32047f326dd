//! [`Line`]: a line of a catalog.

use super::string::decode;

/// A line of a catalog.
#[derive(Debug)]
pub(super) struct Line {
    /// The line, including its line end.
    pub(super) source: String,
    pub(super) kind: LineKind,
}

/// The kind of a line.
#[derive(Debug)]
pub(super) enum LineKind {
    /// Whitespace.
    Blank,
    /// A comment, including flags and obsolete messages.
    Comment,
    /// A keyword and a string.
    Field(Keyword, Quoted),
    /// A string that continues the previous one.
    More(Quoted),
}

/// A keyword of a message.
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

/// A string of a line.
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

    /// Returns whether the line is a comment with flags.
    pub(super) fn is_flags(&self) -> bool {
        self.source.trim_start().starts_with("#,")
    }
}

fn parse_keyword(keyword: &str) -> Result<Keyword, String> {
    match keyword {
        "msgctxt" => Ok(Keyword::Context),
        "msgid" => Ok(Keyword::Id),
        "msgid_plural" => Ok(Keyword::Plural),
        "msgstr" | "msgstr[0]" => Ok(Keyword::Singular),
        _ => {
            let number = keyword
                .strip_prefix("msgstr[")
                .and_then(|rest| rest.strip_suffix(']'));
            match number {
                Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Ok(Keyword::Other)
                }
                _ => Err("expected `msgctxt`, `msgid`, `msgid_plural` or `msgstr`".to_owned()),
            }
        }
    }
}
