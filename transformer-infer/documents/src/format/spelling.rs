//! Spellings of passages: [`AsSpelled`] keeps that of an unchanged one, [`WithEntities`] writes entities, and [`character`]
//! reads one.

use std::borrow::Cow;
use std::sync::Arc;

use htmlize::Context;

use super::html::{HtmlNotation, entity};
use super::items::ItemKind;
use crate::{Notation, Passage};

/// A notation that writes an unchanged passage as in the document: with its escapes, entities and quotation marks.
#[derive(Debug)]
struct AsSpelled {
    notation: Arc<dyn Notation>,
    /// The unchanged passage, before it is completed.
    unchanged: String,
    source: String,
}

impl Notation for AsSpelled {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.notation.escape(text)
    }

    fn has_soft_line_ends(&self) -> bool {
        self.notation.has_soft_line_ends()
    }

    fn append(&self, written: &mut String, piece: &str) {
        self.notation.append(written, piece);
    }

    fn complete(&self, written: String) -> String {
        if written == self.unchanged {
            self.source.clone()
        } else {
            self.notation.complete(written)
        }
    }
}

/// A notation that writes as entities the characters that a given text writes as entities.
#[derive(Debug)]
pub(super) struct WithEntities {
    html: HtmlNotation,
    notation: Arc<dyn Notation>,
}

impl WithEntities {
    pub(super) fn new(mut html: HtmlNotation, text: &str, notation: &Arc<dyn Notation>) -> Self {
        html.learn_text(text);
        Self {
            html,
            notation: Arc::clone(notation),
        }
    }
}

impl Notation for WithEntities {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.html.escape(text);
        Cow::Owned(self.notation.escape(&text).into_owned())
    }

    fn append(&self, written: &mut String, piece: &str) {
        self.notation.append(written, piece);
    }

    fn complete(&self, written: String) -> String {
        self.notation.complete(written)
    }
}

/// Returns the character of the entity at the start of a text, and its length. Signs such as `&copy;` are points.
pub(super) fn character(text: &str) -> Option<(ItemKind, usize)> {
    let Some((len, characters)) = ended_entity(text) else {
        return bare_len(text).map(|len| (ItemKind::Point, len));
    };
    let mut chars = characters.chars();
    let is_text = |c: char| {
        c.is_alphanumeric() || c.is_whitespace() || "&<>\"'‘’“”„«»‹›-–—\u{ad}".contains(c)
    };
    let kind = match (chars.next(), chars.next()) {
        (Some(c), None) if is_text(c) => ItemKind::Text(characters.into_owned()),
        _ => ItemKind::Point,
    };
    Some((kind, len))
}

/// Returns the length of a text that would become an entity if the `&` at its start were escaped: an unknown one, such as
/// `&quote;`, or two signs, such as `&&lt;`.
fn bare_len(text: &str) -> Option<usize> {
    let rest = &text[1..];
    let name_len = rest.find(|c: char| !c.is_ascii_lowercase())?;
    let is_name = name_len > 1 && rest[name_len..].starts_with(';');
    let len = ended_entity(rest).map(|it| it.0);
    Some(1 + len.or(is_name.then_some(name_len + 1))?)
}

/// Resolves the entity at the start of a text, and returns its length, if it ends with a semicolon.
fn ended_entity(text: &str) -> Option<(usize, Cow<'static, str>)> {
    let found = entity(text, Context::General).filter(|_| text.starts_with('&'));
    found.filter(|it| text[..it.0].ends_with(';'))
}

/// Makes [`Passage::source`] return `source`.
pub(super) fn with_source(mut passage: Passage, source: String) -> Passage {
    if passage.source() != source {
        passage.notation = Arc::new(AsSpelled {
            unchanged: passage.incomplete_source(),
            notation: Arc::clone(&passage.notation),
            source,
        });
    }
    passage
}
