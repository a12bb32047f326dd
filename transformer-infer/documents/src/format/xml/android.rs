//! [`Text`]: the escapes of Android's string resources.

use std::borrow::Cow;

use super::notation::{XmlText, resolved};
use crate::Notation;
use crate::format::items::{Item, ItemKind};

/// A notation that writes text with the escapes of Android.
#[derive(Debug)]
pub(super) struct Text;

impl Notation for Text {
    fn has_soft_line_ends(&self) -> bool {
        true
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = XmlText::default().escape(text).into_owned();
        let escaped = text.replace('\\', "\\\\");
        Cow::Owned(escaped.replace('\'', "\\'").replace('"', "\\\""))
    }
}

/// Adds text with its escapes: `\n` ends a passage, and those that stand for no character are points.
pub(super) fn push(source: &str, items: &mut Vec<Item>) {
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        if at > 0 {
            items.push(words(&rest[..at]));
        }
        let escape = &rest[at..];
        let letter = escape[1..].chars().next();
        let len = match letter {
            Some('u') if escape.len() >= 6 && escape.is_char_boundary(6) => 6,
            letter => 1 + letter.map_or(0, char::len_utf8),
        };
        let code = escape
            .get(2..len)
            .and_then(|it| u32::from_str_radix(it, 16).ok());
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

fn words(source: &str) -> Item {
    Item::new(ItemKind::Text(resolved(source).into_owned()), source)
}
