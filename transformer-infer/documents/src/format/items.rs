//! [`Item`]: text and markup in the order of the document.

use super::html::{is_block, is_copied};

/// Name of pairs that need more output if their text changes: links of Markdown that are named by it.
pub(super) const NAMED: &str = "[";

/// Whitespace that formats treat alike; other whitespace, such as the no-break space, is text.
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// A piece of text or markup, in the order of the document.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// The item as written in the document.
    pub(super) source: String,
    /// The markup as written in the translation; differs from the source if the translation needs another form.
    pub(super) raw: String,
}

/// The kind of an item.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ItemKind {
    /// Text as a person reads it.
    Text(String),
    /// Start of a pair with this name.
    Open(String),
    /// End of a pair with this name.
    Close(String),
    /// A [`MarkKind::Point`](crate::MarkKind::Point).
    Point,
    /// A [`MarkKind::Break`](crate::MarkKind::Break).
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

impl Item {
    /// Makes an item that is written as in the document.
    pub(super) fn new(kind: ItemKind, source: impl Into<String>) -> Self {
        let source = source.into();
        let raw = match kind {
            ItemKind::Text(_) => String::new(),
            _ => source.clone(),
        };
        Self { kind, source, raw }
    }

    /// Makes text that is spelled as a person reads it.
    pub(super) fn text(text: &str) -> Self {
        Self::new(ItemKind::Text(text.to_owned()), text)
    }

    /// Adds the source after it.
    pub(super) fn append(&mut self, source: &str) {
        self.source.push_str(source);
        self.raw.push_str(source);
    }

    /// Returns whether the item has nothing but whitespace.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            ItemKind::Text(text) => text.chars().all(char::is_whitespace),
            kind => *kind == ItemKind::Break,
        }
    }

    /// Removes and returns the whitespace at the start of a text, if the document spells it as whitespace.
    pub(super) fn split_leading_space(&mut self) -> String {
        let ItemKind::Text(text) = &mut self.kind else {
            return String::new();
        };
        let space = text[..text.len() - text.trim_start_matches(SPACES).len()].to_owned();
        if !self.source.starts_with(&space) {
            return String::new();
        }
        text.drain(..space.len());
        self.source.drain(..space.len());
        space
    }

    /// Removes and returns the whitespace at the end of a text, if the document spells it as whitespace.
    pub(super) fn split_trailing_space(&mut self) -> String {
        let ItemKind::Text(text) = &mut self.kind else {
            return String::new();
        };
        let space = text[text.trim_end_matches(SPACES).len()..].to_owned();
        if !self.source.ends_with(&space) {
            return String::new();
        }
        text.truncate(text.len() - space.len());
        self.source.truncate(self.source.len() - space.len());
        space
    }
}
