//! [`XmlText`] and [`AndroidText`]: the rules for writing translated text in XML, and for reading it.

use std::borrow::Cow;

use htmlize::{escape_text, unescape};

use super::token::{Token, TokenKind};
use crate::Notation;
use crate::format::items::{Item, ItemKind};
use crate::format::quoted::hexadecimal;

#[derive(Debug, Default)]
pub(super) struct XmlText {
    pub(super) has_hard_line_ends: bool,
}

impl Notation for XmlText {
    fn has_soft_line_ends(&self) -> bool {
        !self.has_hard_line_ends
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // XML has no other control characters.
        let is_control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
        escape_text(text.replace(is_control, ""))
    }
}

/// Resolves the entities of XML, and the additional names of HTML.
pub(super) fn resolved(source: &str) -> Cow<'_, str> {
    unescape(source)
}

pub(super) fn words(source: &str) -> Item {
    Item::new(ItemKind::Text(resolved(source).into_owned()), source)
}

/// Divides text at references to carriage returns and to entities that the document declares; returns the text between
/// them and the references, in turn.
pub(super) fn split_at_entities(source: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut search) = (0, 0);
    while let Some(found) = source[search..].find('&') {
        let at = search + found;
        let name = source[at + 1..].split(|c: char| !c.is_alphanumeric() && !"#_.:-".contains(c));
        let end = at + 1 + name.map(str::len).next().unwrap_or(0);
        search = at + 1;
        let is_named = end > search && source[end..].starts_with(';');
        let is_kept = || {
            let entity = &source[at..=end];
            let resolved = resolved(entity);
            // A reader of XML takes a carriage return for a line end, unless it is written as an entity.
            resolved == entity || resolved == "\r"
        };
        if is_named && is_kept() {
            pieces.extend([&source[start..at], &source[at..=end]]);
            (start, search) = (end + 1, end + 1);
        }
    }
    pieces.push(&source[start..]);
    pieces
}

#[derive(Debug)]
pub(super) struct AndroidText;

impl Notation for AndroidText {
    fn has_soft_line_ends(&self) -> bool {
        true
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = XmlText::default().escape(text).into_owned();
        let escaped = text.replace('\\', "\\\\");
        Cow::Owned(escaped.replace('\'', "\\'").replace('"', "\\\""))
    }

    fn complete(&self, written: String) -> String {
        // They begin references to other resources.
        match written.starts_with(['@', '?']) {
            true => format!("\\{written}"),
            false => written,
        }
    }
}

/// Returns whether the content of a string is text, with quotation marks around all of it or none. A reference to
/// another resource is not, and text with other quotation marks, which are not shown, is too rare to be read.
pub(super) fn is_android_text(content: &[Token<'_>]) -> bool {
    let texts = content.iter().filter(|it| it.kind == TokenKind::Text);
    let n_quotes: usize = texts.map(|it| n_quotes(it.source)).sum();
    let first = content.first().map_or("", |it| it.source.trim_start());
    let last = content.last().map_or("", |it| it.source.trim_end());
    let is_quoted = first.starts_with('"') && last.ends_with('"') && !last.ends_with("\\\"");
    !first.starts_with(['@', '?']) && (n_quotes == 0 || n_quotes == 2 && is_quoted)
}

fn n_quotes(source: &str) -> usize {
    let mut is_escaped = false;
    let is_quote = |c: char| {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped;
        c == '"' && !was_escaped
    };
    source.chars().map(is_quote).filter(|it| *it).count()
}

/// Adds text: `\n` and quotation marks end a passage, and escapes that stand for no character are points.
pub(super) fn push_android(source: &str, items: &mut Vec<Item>) {
    let mut rest = source;
    while let Some(at) = rest.find(['\\', '"']) {
        if at > 0 {
            items.push(words(&rest[..at]));
        }
        if rest[at..].starts_with('"') {
            items.push(Item::new(ItemKind::Wall, "\""));
            rest = &rest[at + 1..];
            continue;
        }
        let escape = &rest[at..];
        let letter = escape[1..].chars().next();
        let len = match letter {
            Some('u') if escape.len() >= 6 && escape.is_char_boundary(6) => 6,
            letter => 1 + letter.map_or(0, char::len_utf8),
        };
        let digits = escape.get(2..len);
        let code = digits.and_then(hexadecimal);
        let kind = match letter {
            Some('n') => ItemKind::Wall,
            Some(c @ ('\'' | '"' | '\\' | '@' | '?')) => ItemKind::Text(c.to_string()),
            Some('u') => match code.and_then(char::from_u32).filter(|c| !c.is_control()) {
                Some(c) => ItemKind::Text(c.to_string()),
                None => ItemKind::Point,
            },
            _ => ItemKind::Point,
        };
        items.push(Item::new(kind, &escape[..len]));
        rest = &escape[len..];
    }
    if !rest.is_empty() {
        items.push(words(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_read() {
        for text in ["a & b", "1 < 2 > 0", "&amp;lt;", "\"it's\"", ""] {
            assert_eq!(resolved(&XmlText::default().escape(text)), text);
        }
    }
}
