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

    /// Adds text; tags, as translators of programs use them, are pairs and points.
    fn push_text(&self, start: usize, end: usize, items: &mut Vec<Item>) {
        let mut at = start;
        let mut search = start;
        while let Some(found) = self.text[search..end].find('<') {
            let tag_start = search + found;
            search = tag_start + 1;
            let Some((kind, len)) = tag(&self.text[tag_start..end]) else {
                continue;
            };
            self.push_words(at, tag_start, items);
            at = tag_start + len;
            search = at;
            items.push(Item::new(kind, self.source_of(tag_start, at)));
        }
        self.push_words(at, end, items);
    }

    fn push_words(&self, start: usize, end: usize, items: &mut Vec<Item>) {
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

/// Elements of HTML without an end tag.
const VOID_TAGS: [&str; 6] = ["br", "hr", "img", "input", "link", "wbr"];

/// A tag is not longer, in bytes; so searching for its end takes bounded time.
const MAX_TAG_BYTES: usize = 1024;

/// Returns what the tag at the start of a text is, and its length; `None` if there is none.
pub(super) fn tag(text: &str) -> Option<(ItemKind, usize)> {
    let within = &text[..text.floor_char_boundary(MAX_TAG_BYTES)];
    let len = within.find('>')? + 1;
    let inside = &within[1..len - 1];
    let (is_end, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let name_len = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (name, rest) = inside.split_at(name_len);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_tag =
        begins && !rest.contains('<') && (rest.is_empty() || rest.starts_with([' ', '\t', '/']));
    let name = name.to_ascii_lowercase();
    let is_void = rest.ends_with('/') || VOID_TAGS.contains(&name.as_str());
    let kind = match (is_end, is_void) {
        (true, _) => ItemKind::Close(name),
        (false, true) => ItemKind::Point,
        (false, false) => ItemKind::Open(name),
    };
    is_tag.then_some((kind, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_strings_are_pairs_and_points() {
        let open = |name: &str| ItemKind::Open(name.to_owned());
        assert_eq!(tag("<b>x"), Some((open("b"), 3)));
        assert_eq!(tag("<a href=\"x\">"), Some((open("a"), 12)));
        assert_eq!(tag("</0>"), Some((ItemKind::Close("0".to_owned()), 4)));
        assert_eq!(tag("<br/>"), Some((ItemKind::Point, 5)));
        assert_eq!(tag("<Icon />"), Some((ItemKind::Point, 8)));
        for text in ["< b>", "<>", "<3", "<b", "a > b", "<a<b>"] {
            assert_eq!(tag(text), None, "{text}");
        }
    }
}
