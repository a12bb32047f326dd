//! [`Item`]: text and markup in the order of the document.

/// Whitespace that formats do not distinguish; others, such as the no-break space, are text.
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// A piece of text or markup, in the order of the document.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// How it is in the document.
    pub(super) source: String,
    /// How markup is written into the translation; differs from the source where the translation needs another form.
    pub(super) raw: String,
}

/// What an item is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ItemKind {
    /// Text as a person reads it.
    Text(String),
    /// Start of a pair with this name.
    Open(String),
    /// End of a pair with this name.
    Close(String),
    /// A [`MarkKind::Point`](crate::document::MarkKind::Point).
    Point,
    /// A [`MarkKind::Break`](crate::document::MarkKind::Break).
    Break,
    /// Copied text at which a passage ends.
    Wall,
}

impl Item {
    /// Makes an item that is written as it is in the document.
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

    /// Returns whether there is nothing but whitespace.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            ItemKind::Text(text) => text.chars().all(char::is_whitespace),
            kind => *kind == ItemKind::Break,
        }
    }

    /// Removes the whitespace at the start of a text, if the document spells it as whitespace.
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

    /// Removes the whitespace at the end of a text, if the document spells it as whitespace.
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
