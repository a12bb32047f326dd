//! [`next_token`]: divides HTML into tokens as browsers do, without changing a byte.
//!
//! It follows the states of the standard's tokenizer
//! (<https://html.spec.whatwg.org/multipage/parsing.html#tokenization>), but only finds the ends of tokens: it resolves
//! no entities and reports no errors.

use std::ops::Range;

use super::raw_text::{scan_raw_text, scan_script, starts_with};
use super::scan_tag::scan_tag;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) len: usize,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Text, or a piece of it; entities are never divided.
    Text,
    Start(Tag),
    End(Tag),
    Comment,
    /// No part of the page: a doctype, `</>`, or a tag that is cut off at the end of the file.
    Nothing,
}

/// The name of a tag, and the attributes that matter to the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// The name in lower case, cut to [`MAX_NAME_BYTES`].
    pub(super) name: String,
    /// The attributes in the order of the source; if a name is repeated, only the first.
    pub(super) attributes: Vec<Attribute>,
    pub(super) is_self_closing: bool,
}

pub(super) const MAX_NAME_BYTES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    /// The value in the tag, without its quotation marks.
    pub(super) value: Range<usize>,
    pub(super) quote: Quote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    None,
}

/// The way to read text up to the end tag of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TextMode {
    #[default]
    Data,
    /// Up to this end tag, with entities: `textarea`, `title`.
    Escapable(&'static str),
    /// Up to this end tag: `style` and others.
    Raw(&'static str),
    Script(Script),
    Plain,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Script {
    #[default]
    Code,
    /// After `<!--`.
    Escaped,
    /// After `<!--` and `<script`.
    DoubleEscaped,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|found| found.name == name)
    }
}

/// Maximum length of an entity: `&CounterClockwiseContourIntegral;` has 33 bytes. Longer numbers are divided as text.
const MAX_ENTITY_BYTES: usize = 64;

/// Returns the token at the start of the text, which is not empty, or `None` if more text is needed to find its end.
///
/// `has_cdata` is true in XML, and inside SVG or MathML.
pub(super) fn next_token(
    text: &str,
    is_at_end: bool,
    has_cdata: bool,
    mode: &mut TextMode,
) -> Option<Token> {
    match mode {
        TextMode::Data => data_token(text, is_at_end, has_cdata),
        TextMode::Plain => Some(Token::text(text.len())),
        TextMode::Escapable(name) => match scan_raw_text(text, is_at_end, name)? {
            0 => tag_token(text, is_at_end),
            len => text_token(text, len, is_at_end),
        },
        TextMode::Raw(name) => match scan_raw_text(text, is_at_end, name)? {
            0 => tag_token(text, is_at_end),
            len => Some(Token::text(len)),
        },
        TextMode::Script(script) => match scan_script(text, is_at_end, script)? {
            0 => tag_token(text, is_at_end),
            len => Some(Token::text(len)),
        },
    }
}

impl Token {
    fn text(len: usize) -> Self {
        Self {
            len,
            kind: TokenKind::Text,
        }
    }
}

fn data_token(text: &str, is_at_end: bool, has_cdata: bool) -> Option<Token> {
    match find_markup(text, is_at_end) {
        Some(0) => markup_token(text, is_at_end, has_cdata),
        Some(len) => text_token(text, len, is_at_end),
        None => text_token(text, text.len(), is_at_end),
    }
}

/// Returns the index of the first `<` that begins markup, or may begin it once more text is known.
fn find_markup(text: &str, is_at_end: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices('<').map(|(at, _)| at).find(|&at| {
        let next = |offset: usize| bytes.get(at + offset).copied();
        match next(1) {
            Some(b'!' | b'?') => true,
            // At the end of the file, `</` is text.
            Some(b'/') => next(2).is_some() || !is_at_end,
            Some(byte) => byte.is_ascii_alphabetic(),
            None => !is_at_end,
        }
    })
}

/// Shortens text of this length so that no entity is divided.
fn text_token(text: &str, len: usize, is_at_end: bool) -> Option<Token> {
    if len < text.len() || is_at_end {
        return Some(Token::text(len));
    }
    let window = text.floor_char_boundary(len.saturating_sub(MAX_ENTITY_BYTES));
    let cut = match text[window..].rfind('&') {
        Some(at) if is_entity_start(&text[window + at + 1..]) => window + at,
        _ => len,
    };
    (cut > 0).then(|| Token::text(cut))
}

fn is_entity_start(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
}

fn markup_token(text: &str, is_at_end: bool, has_cdata: bool) -> Option<Token> {
    let bytes = text.as_bytes();
    let (len, kind) = match bytes.get(1)? {
        b'!' => return declaration_token(text, is_at_end, has_cdata),
        b'?' => (until(text, 1, ">", is_at_end)?, TokenKind::Comment),
        b'/' => match bytes.get(2)? {
            b'>' => (3, TokenKind::Nothing),
            byte if byte.is_ascii_alphabetic() => return tag_token(text, is_at_end),
            _ => (until(text, 2, ">", is_at_end)?, TokenKind::Comment),
        },
        _ => return tag_token(text, is_at_end),
    };
    Some(Token { len, kind })
}

/// Reads a start or end tag. A tag that is cut off by the end of the file is no part of the page.
fn tag_token(text: &str, is_at_end: bool) -> Option<Token> {
    let is_end_tag = text[1..].starts_with('/');
    let make: fn(Tag) -> TokenKind = if is_end_tag {
        TokenKind::End
    } else {
        TokenKind::Start
    };
    match scan_tag(text, 1 + usize::from(is_end_tag)) {
        Some((tag, len)) => Some(Token {
            len,
            kind: make(tag),
        }),
        None => is_at_end.then_some(Token {
            len: text.len(),
            kind: TokenKind::Nothing,
        }),
    }
}

fn declaration_token(text: &str, is_at_end: bool, has_cdata: bool) -> Option<Token> {
    let rest = &text[2..];
    let (len, kind) = if rest.starts_with("--") {
        (comment_len(text, is_at_end)?, TokenKind::Comment)
    } else if starts_with(rest, "doctype", true) == Some(true) {
        (until(text, 9, ">", is_at_end)?, TokenKind::Nothing)
    } else if has_cdata && rest.starts_with("[CDATA[") {
        // It has no markup.
        (until(text, 9, "]]>", is_at_end)?, TokenKind::Text)
    } else {
        let is_unknown = "--".starts_with(rest)
            || starts_with(rest, "doctype", is_at_end).is_none()
            || (has_cdata && "[CDATA[".starts_with(rest));
        if is_unknown && !is_at_end {
            return None;
        }
        (until(text, 2, ">", is_at_end)?, TokenKind::Comment)
    };
    Some(Token { len, kind })
}

fn comment_len(text: &str, is_at_end: bool) -> Option<usize> {
    let rest = &text[4..];
    if rest.starts_with('>') {
        return Some(5);
    }
    if rest.starts_with("->") {
        return Some(6);
    }
    let mut behind = rest;
    while let Some(at) = behind.find("--") {
        // In `--->` the last two hyphens count.
        behind = behind[at..].trim_start_matches('-');
        let end = text.len() - behind.len();
        if behind.starts_with('>') {
            return Some(end + 1);
        } else if behind.starts_with("!>") {
            return Some(end + 2);
        }
    }
    is_at_end.then_some(text.len())
}

/// Returns the index after the first `end` at or after `from`; at the end of the file, its length.
fn until(text: &str, from: usize, end: &str, is_at_end: bool) -> Option<usize> {
    match text[from..].find(end) {
        Some(at) => Some(from + at + end.len()),
        None => is_at_end.then_some(text.len()),
    }
}
