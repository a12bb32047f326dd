//! [`Assembler`]: collects text and inline markup up to the end of a passage, and makes parts of them.

use super::entity::pieces;
use super::segment::Position;
use super::segment::push_inline;
use crate::Part;
use crate::format::items::{Item, ItemKind, is_space};
use crate::format::parts::PartQueue;

/// Number of bytes of text after which a passage ends at the next whitespace outside pairs; at twice as many, anywhere.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 16;

/// Number of tags and texts after which a passage ends in the same way.
pub(super) const MAX_ITEMS: usize = 1000;

/// Number of bytes of markup after which a passage ends in the same way.
pub(super) const MAX_MARKUP_BYTES: usize = 1 << 20;

/// The current passage, and the parts before it.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    items: Vec<Item>,
    /// The names of the start tags without an end tag so far.
    open: Vec<String>,
    n_text_bytes: usize,
    n_markup_bytes: usize,
    position: Position,
    pub(super) parts: PartQueue,
}

impl Assembler {
    /// Ends the passage, and copies the parts.
    pub(super) fn copy(&mut self, parts: Vec<Part>) {
        self.flush();
        self.parts.extend(parts);
    }

    pub(super) fn text(&mut self, mut source: &str, position: Position) {
        while let Some(cut) = self.cut(source) {
            let (head, rest) = source.split_at(cut);
            self.push_text(head, position);
            self.flush();
            source = rest;
        }
        self.push_text(source, position);
    }

    /// Returns the position in the text where the passage has to end.
    fn cut(&self, source: &str) -> Option<usize> {
        let is_full = self.items.len() >= MAX_ITEMS || self.n_markup_bytes >= MAX_MARKUP_BYTES;
        let n_left = |limit: usize| limit.saturating_sub(self.n_text_bytes);
        let soft = if is_full { 0 } else { n_left(MAX_TEXT_BYTES) };
        let is_space = |byte: &u8| is_space(*byte);
        if source.len() <= soft || source.is_empty() {
            return None;
        }
        let hard = n_left(2 * MAX_TEXT_BYTES);
        if self.open.is_empty() {
            let end = hard.clamp(soft, source.len());
            let found = source.as_bytes()[soft..end].iter().position(is_space);
            if let Some(at) = found {
                // The whitespace is copied before the next passage.
                return (soft + at > 0 || !self.items.is_empty()).then_some(soft + at);
            }
        }
        if source.len() <= hard {
            return None;
        }
        let mut end = 0;
        for piece in pieces(source, htmlize::Context::General) {
            let behind = end + piece.source.len();
            if behind > hard && piece.is_entity {
                break;
            }
            end = behind.min(source.floor_char_boundary(hard));
            if behind > hard {
                break;
            }
        }
        (end > 0 || !self.items.is_empty()).then_some(end)
    }

    fn push_text(&mut self, source: &str, position: Position) {
        if source.is_empty() {
            return;
        }
        // If one line end is kept, the whole passage is preformatted.
        if source.contains(['\n', '\r']) && position == Position::Preformatted {
            self.position = position;
        }
        self.n_text_bytes += source.len();
        match self.items.last_mut() {
            Some(last) if matches!(last.kind, ItemKind::Text(_)) => last.source.push_str(source),
            _ => self.items.push(Item::text(source)),
        }
    }

    pub(super) fn point(&mut self, point: Item) {
        self.make_room(point.source.len());
        self.items.push(point);
    }

    pub(super) fn open(&mut self, name: &str, parts: Vec<Part>) {
        // Links do not nest: a second one ends the first.
        let is_single = matches!(name, "a" | "nobr");
        if is_single && self.open.iter().any(|open| open == name) {
            self.copy(parts);
            return;
        }
        let open = Item::of_parts(ItemKind::Open(name.to_owned()), parts);
        self.make_room(open.source.len());
        self.open.push(name.to_owned());
        self.items.push(open);
    }

    /// Adds the end tag of a pair. Ends the passage if the last start tag has another name.
    pub(super) fn close(&mut self, name: &str, source: String) {
        if self.open.last().is_some_and(|open| open == name) {
            self.open.pop();
            self.n_markup_bytes += source.len();
            self.items
                .push(Item::new(ItemKind::Close(name.to_owned()), source));
        } else {
            self.copy(vec![Part::Verbatim(source)]);
        }
    }

    /// Ends the passage if it would have too much markup with these additional bytes.
    fn make_room(&mut self, n_bytes: usize) {
        if self.items.len() >= 2 * MAX_ITEMS || self.n_markup_bytes + n_bytes > 2 * MAX_MARKUP_BYTES
        {
            self.flush();
        }
        self.n_markup_bytes += n_bytes;
    }

    /// Ends the passage. Start tags without an end tag divide it.
    pub(super) fn flush(&mut self) {
        let items = std::mem::take(&mut self.items);
        self.open.clear();
        self.n_text_bytes = 0;
        self.n_markup_bytes = 0;
        push_inline(items, std::mem::take(&mut self.position), &mut self.parts);
    }
}
