//! [`Value`]: text of several lines in a cell or string, with its spelling in the document.

use std::sync::Arc;

use super::items::{Item, ItemKind};
use super::parts::PartQueue;
use super::segments::push_items;
use crate::document::Notation;

/// Text and how each of its characters is spelled in the document.
#[derive(Debug)]
pub(super) struct Value {
    text: String,
    source: String,
    /// Where in the source each byte of the text begins.
    offsets: Vec<usize>,
}

impl Value {
    /// Makes an empty value.
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            source: String::new(),
            offsets: Vec::new(),
        }
    }

    /// Makes a value that is spelled as it is.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            source: text.to_owned(),
            offsets: (0..text.len()).collect(),
        }
    }

    /// Adds a character and its spelling.
    pub(super) fn push(&mut self, char: char, spelling: &str) {
        for _ in 0..char.len_utf8() {
            self.offsets.push(self.source.len());
        }
        self.text.push(char);
        self.source.push_str(spelling);
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the value to the queue: a passage for each paragraph; line ends inside of paragraphs are breaks.
    pub(super) fn push_parts(&self, notation: &Arc<dyn Notation>, parts: &mut PartQueue) {
        let mut items = Vec::new();
        let mut at = 0;
        while let Some(found) = self.text[at..].find(['\n', '\r']) {
            let start = at + found;
            let rest = &self.text[start..];
            let space =
                &rest[..rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()];
            let end = start + space.len();
            let n_lines = space.matches('\n').count();
            let kind = if n_lines > 1 {
                ItemKind::Wall
            } else {
                ItemKind::Break
            };
            self.push_text(at, start, &mut items);
            items.push(Item::new(kind, self.source_of(start, end)));
            at = end;
        }
        self.push_text(at, self.text.len(), &mut items);
        push_items(items, notation, parts);
    }

    fn push_text(&self, start: usize, end: usize, items: &mut Vec<Item>) {
        if start < end {
            let text = self.text[start..end].to_owned();
            items.push(Item::new(ItemKind::Text(text), self.source_of(start, end)));
        }
    }

    /// Returns the spelling of a range of the text.
    fn source_of(&self, start: usize, end: usize) -> &str {
        let offset = |at| self.offsets.get(at).copied().unwrap_or(self.source.len());
        &self.source[offset(start)..offset(end)]
    }
}
