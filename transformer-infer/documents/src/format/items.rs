//! [`Item`]: text and markup in the order of the document.

use super::html::{is_block, is_copied};
use crate::{Part, Raw};

/// Name of pairs that need more output if their text changes: links of Markdown that are named by it.
pub(super) const NAMED: &str = "[";

/// A piece of text or markup, in the order of the document.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    pub(super) source: String,
    /// The markup as written in the translation; differs from the source if the translation needs another form.
    pub(super) raw: Raw,
    /// True if a point is visible to a reader, so that the words around it do not touch.
    pub(super) is_visible: bool,
    /// True if a point may be a word of a sentence; other points are copied at the edges of a passage.
    pub(super) is_word: bool,
    /// True if a point consists of several, with whitespace between them.
    pub(super) has_inner_space: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ItemKind {
    /// Text as a person reads it.
    Text(String),
    /// Start of a pair with this name.
    Open(String),
    Close(String),
    Point,
    Break,
    /// Copied text that ends a passage.
    Wall,
}

/// Joins elements with untranslated content: `<code>…</code>` to points, and `<pre>…</pre>` to walls.
pub(super) fn join_atoms(items: Vec<Item>) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::with_capacity(items.len());
    // The first open element.
    let mut start: Option<usize> = None;
    for item in items {
        let ended = start.filter(|start| match (&joined[*start].kind, &item.kind) {
            (ItemKind::Open(open), ItemKind::Close(close)) => open == close,
            _ => false,
        });
        match &item.kind {
            ItemKind::Open(name) if start.is_none() && is_copied(name) => {
                start = Some(joined.len());
            }
            _ => {}
        }
        joined.push(item);
        if let Some(ended) = ended {
            let kind = match &joined[ended].kind {
                ItemKind::Open(name) if is_block(name) => ItemKind::Wall,
                _ => ItemKind::Point,
            };
            let source: String = joined.drain(ended..).map(|item| item.source).collect();
            joined.push(Item::new(kind, source));
            start = None;
        }
    }
    joined
}

/// Joins points with nothing but such text between them.
pub(super) fn join_points(
    items: impl IntoIterator<Item = Item>,
    is_between: impl Fn(&Item) -> bool,
) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::new();
    for item in items {
        let is_point = item.kind == ItemKind::Point;
        if is_point
            && let [.., point, text] = &joined[..]
            && point.kind == ItemKind::Point
            && matches!(text.kind, ItemKind::Text(_))
            && is_between(text)
            && let Some(text) = joined.pop()
            && let Some(point) = joined.last_mut()
        {
            point.has_inner_space |= text.source.bytes().any(is_space);
            point.append(text);
        }
        match joined.last_mut() {
            Some(last) if is_point && last.kind == ItemKind::Point => last.append(item),
            _ => joined.push(item),
        }
    }
    joined
}

/// Returns whether a byte is whitespace for all formats; other whitespace, such as the no-break space, is text.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

impl Item {
    pub(super) fn new(kind: ItemKind, source: impl Into<String>) -> Self {
        let source = source.into();
        let raw = match kind {
            ItemKind::Text(_) => Raw::default(),
            _ => source.clone().into(),
        };
        Self {
            kind,
            source,
            raw,
            is_visible: true,
            is_word: true,
            has_inner_space: false,
        }
    }

    /// Makes text that is spelled as a person reads it.
    pub(super) fn text(text: &str) -> Self {
        Self::new(ItemKind::Text(text.to_owned()), text)
    }

    /// Makes markup that may have passages inside.
    pub(super) fn of_parts(kind: ItemKind, parts: Vec<Part>) -> Self {
        Self {
            source: parts.iter().map(Part::source).collect(),
            raw: Raw(parts),
            ..Self::new(kind, "")
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.source.push_str(&other.source);
        self.is_visible |= other.is_visible;
        self.is_word |= other.is_word;
        self.has_inner_space |= other.has_inner_space;
        self.raw.extend(other.into_parts());
    }

    pub(super) fn into_parts(self) -> Vec<Part> {
        let is_passage = |part: &Part| matches!(part, Part::Passage(_));
        match self.raw.0.iter().any(is_passage) {
            true => self.raw.0,
            false => vec![Part::Verbatim(self.source)],
        }
    }

    pub(super) fn is_spelled_blank(&self) -> bool {
        matches!(self.kind, ItemKind::Text(_)) && self.source.bytes().all(is_space)
    }

    /// Returns whether the item belongs to no sentence if it is at the edge of a passage.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            ItemKind::Text(text) => text.chars().all(char::is_whitespace),
            ItemKind::Point => !self.is_word,
            kind => *kind == ItemKind::Break,
        }
    }

    /// Removes and returns the whitespace at the start of a text that the document spells as whitespace.
    pub(super) fn split_leading_space(&mut self) -> String {
        let ItemKind::Text(text) = &mut self.kind else {
            return String::new();
        };
        let both = text.bytes().zip(self.source.bytes());
        let n_spaces = both.take_while(|(a, b)| a == b && is_space(*a)).count();
        text.drain(..n_spaces);
        self.source.drain(..n_spaces).collect()
    }

    pub(super) fn split_trailing_space(&mut self) -> String {
        let ItemKind::Text(text) = &mut self.kind else {
            return String::new();
        };
        let both = text.bytes().rev().zip(self.source.bytes().rev());
        let n_spaces = both.take_while(|(a, b)| a == b && is_space(*a)).count();
        text.truncate(text.len() - n_spaces);
        self.source.split_off(self.source.len() - n_spaces)
    }
}
