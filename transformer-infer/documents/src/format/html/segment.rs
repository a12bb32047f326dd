//! [`segment_parts`]: makes a passage and the parts around it from text and balanced markup.

use htmlize::Context;

use super::entity::pieces;
use super::notation::Position;
use super::passage::{
    PassageBuilder, first_character, n_leading_spaces, n_trailing_spaces, push_verbatim,
};
use crate::{Part, Raw};

/// A piece of text with inline markup.
#[derive(Clone, Debug)]
pub(super) enum Inline {
    /// Text as written in the file.
    Text(String),
    Open(Vec<Part>),
    Close(String),
    Point(InlinePoint),
}

/// Something between words.
#[derive(Clone, Debug)]
pub(super) struct InlinePoint {
    pub(super) parts: Vec<Part>,
    /// True if it is visible to a reader.
    pub(super) is_visible: bool,
    /// True if it may be a word of the sentence, such as `code`.
    pub(super) is_word: bool,
}

/// Returns the parts of the items. Each pair of the items has both tags.
///
/// Whitespace, comments and images at the edges, and pairs around everything, are copied.
pub(super) fn segment_parts(items: Vec<Inline>, position: Position) -> Vec<Part> {
    let mut items = join_empty_pairs(items);
    let partners = partners(&items);
    let mut range = 0..items.len();
    let mut before = Vec::new();
    let mut behind = Vec::new();
    loop {
        while range.start < range.end && trim_start(&mut items[range.start], &mut before) {
            range.start += 1;
        }
        while range.start < range.end && trim_end(&mut items[range.end - 1], &mut behind) {
            range.end -= 1;
        }
        if range.is_empty() || partners[range.start] != Some(range.end - 1) {
            break;
        }
        before.push(items[range.start].clone());
        behind.push(items[range.end - 1].clone());
        range.start += 1;
        range.end -= 1;
    }
    let mut parts = Vec::new();
    before.into_iter().for_each(|item| copy(&mut parts, item));
    if !range.is_empty() {
        append(&mut parts, passage(&items[range], position));
    }
    behind
        .into_iter()
        .rev()
        .for_each(|item| copy(&mut parts, item));
    parts
}

/// Turns pairs without text, such as anchors and icons, and the marks of footnotes into points.
fn join_empty_pairs(items: Vec<Inline>) -> Vec<Inline> {
    let mut joined: Vec<Inline> = Vec::with_capacity(items.len());
    let mut open = Vec::new();
    let (mut n_texts, mut n_words) = (0, 0);
    for item in items {
        match &item {
            Inline::Text(text) => {
                n_texts += usize::from(n_leading_spaces(text) < text.len());
                n_words += usize::from(has_letters(text));
            }
            Inline::Open(parts) => open.push((joined.len(), n_texts, n_words, is_raised(parts))),
            Inline::Point(_) => {}
            Inline::Close(_) => {
                if let Some((start, n_texts_before, n_words_before, is_raised)) = open.pop()
                    && (n_texts_before == n_texts || is_raised && n_words_before == n_words)
                {
                    n_texts = n_texts_before;
                    let content = joined.split_off(start);
                    joined.push(join(content, item));
                    continue;
                }
            }
        }
        joined.push(item);
    }
    joined
}

fn has_letters(text: &str) -> bool {
    pieces(text, Context::General).any(|piece| piece.text.contains(char::is_alphabetic))
}

/// Returns whether the parts are a start tag of `sup`.
fn is_raised(parts: &[Part]) -> bool {
    let [Part::Verbatim(tag), ..] = parts else {
        return false;
    };
    let name = tag.get(1..4).unwrap_or_default();
    name.eq_ignore_ascii_case("sup") && !tag[4..].starts_with(|c: char| c.is_alphanumeric())
}

fn join(content: Vec<Inline>, close: Inline) -> Inline {
    let mut point = InlinePoint {
        parts: Vec::new(),
        is_visible: false,
        is_word: false,
    };
    for item in content.into_iter().chain([close]) {
        match &item {
            Inline::Point(inner) => {
                point.is_visible |= inner.is_visible;
                point.is_word |= inner.is_word;
            }
            Inline::Text(text) => point.is_visible |= n_leading_spaces(text) < text.len(),
            Inline::Open(_) | Inline::Close(_) => {}
        }
        copy(&mut point.parts, item);
    }
    Inline::Point(point)
}

/// Returns the index of the end tag for each start tag.
fn partners(items: &[Inline]) -> Vec<Option<usize>> {
    let mut partners = vec![None; items.len()];
    let mut open = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Inline::Open(_) => open.push(index),
            Inline::Close(_) => {
                if let Some(start) = open.pop() {
                    partners[start] = Some(index);
                }
            }
            Inline::Text(_) | Inline::Point(_) => {}
        }
    }
    partners
}

/// Moves everything to be copied from the start of the item to `before`; returns whether nothing is left of the item.
fn trim_start(item: &mut Inline, before: &mut Vec<Inline>) -> bool {
    match item {
        Inline::Text(text) => {
            let rest = text.split_off(n_leading_spaces(text));
            before.push(Inline::Text(std::mem::replace(text, rest)));
            text.is_empty()
        }
        Inline::Point(point) if !point.is_word => {
            before.push(item.clone());
            true
        }
        Inline::Point(_) | Inline::Open(_) | Inline::Close(_) => false,
    }
}

/// Moves everything to be copied from the end of the item to `behind`; returns whether nothing is left of the item.
fn trim_end(item: &mut Inline, behind: &mut Vec<Inline>) -> bool {
    match item {
        Inline::Text(text) => {
            let spaces = text.split_off(text.len() - n_trailing_spaces(text));
            behind.push(Inline::Text(spaces));
            text.is_empty()
        }
        Inline::Point(point) if !point.is_word => {
            behind.push(item.clone());
            true
        }
        Inline::Point(_) | Inline::Open(_) | Inline::Close(_) => false,
    }
}

fn passage(items: &[Inline], position: Position) -> Vec<Part> {
    let mut builder = PassageBuilder::new(position);
    let mut next_characters = vec![None; items.len() + 1];
    for (index, item) in items.iter().enumerate().rev() {
        next_characters[index] = match item {
            Inline::Text(text) => first_character(text).or(next_characters[index + 1]),
            _ => next_characters[index + 1],
        };
    }
    for (item, &next) in items.iter().zip(&next_characters) {
        match item {
            Inline::Text(text) => builder.text(text),
            Inline::Open(parts) => builder.open(Raw(parts.clone()), next),
            Inline::Close(tag) => builder.close(tag.as_str().into(), next),
            Inline::Point(point) => builder.point(point.parts.clone(), point.is_visible),
        }
    }
    match builder.finish() {
        part @ Part::Passage(_) => vec![part],
        // Attributes may still have text.
        Part::Verbatim(_) => {
            let mut parts = Vec::new();
            items.iter().for_each(|item| copy(&mut parts, item.clone()));
            parts
        }
    }
}

/// Appends the item unchanged.
pub(super) fn copy(parts: &mut Vec<Part>, item: Inline) {
    match item {
        Inline::Text(text) | Inline::Close(text) => push_verbatim(parts, &text),
        Inline::Open(added) => append(parts, added),
        Inline::Point(point) => append(parts, point.parts),
    }
}

/// Appends parts.
pub(super) fn append(parts: &mut Vec<Part>, added: Vec<Part>) {
    for part in added {
        match part {
            Part::Verbatim(text) => push_verbatim(parts, &text),
            passage @ Part::Passage(_) => parts.push(passage),
        }
    }
}
