//! [`table_parts`]: the parts of an XML document by the rules of its format.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::notation::{
    AndroidText, XmlText, is_android_text, push_android, resolved, split_at_entities, words,
};
use super::paragraph::Paragraph;
use super::reader::push_lines;
use super::rules::{Element, XmlRules, attribute};
use super::token::{Token, TokenKind, each_token, partners, tokens};
use crate::format::items::{Item, ItemKind};
use crate::format::parts::PartQueue;
use crate::format::segments::{has_letters, push_items};
use crate::format::source::MAX_RECORD_BYTES;
use crate::format::value::has_open_message;
use crate::{Notation, Part};

const MAX_DEPTH: usize = 512;

/// Maximum depth of passages inside of others; deeper ones are copied. Time and memory grow with it.
const MAX_PASSAGE_DEPTH: usize = 8;

/// Maximum number of items back to the start of a pair that goes on.
const MAX_ITEMS_BACK: usize = 1000;

/// Reads an XML document by the rules of its format: the content of elements with text is passages, the rest is copied.
/// Fails if elements are nested too deep, or if a passage with its markup has more than [`MAX_RECORD_BYTES`].
pub(in crate::format) fn table_parts(
    text: &str,
    rules: &XmlRules,
) -> Result<Vec<Part>, TableError> {
    let tokens = tokens(text);
    let partners = partners(&tokens);
    let mut depth = 0;
    for (at, end) in partners.iter().enumerate() {
        match end {
            Some(end) if *end > at => depth += 1,
            Some(_) => depth -= 1,
            None => {}
        }
        if depth > MAX_DEPTH {
            return Err(TableError {
                line: 1,
                problem: format!("elements are nested more than {MAX_DEPTH} deep"),
            });
        }
    }
    let source_rule = rules.filled.iter().flatten().next();
    let document = Document {
        partners,
        tokens,
        source_rule: RefCell::new(source_rule.cloned().unwrap_or_default()),
        rules,
        passage_depth: Cell::default(),
        error: RefCell::default(),
    };
    let mut parts = PartQueue::default();
    document.walk(0..document.tokens.len(), "", &mut parts);
    match document.error.into_inner() {
        Some(error) => Err(error),
        None => Ok(parts.into_parts()),
    }
}

/// Returns the lines of the names of columns in a table of SpreadsheetML.
pub(in crate::format) fn column_names(table: &str) -> Vec<String> {
    let mut names = Vec::new();
    for token in each_token(table) {
        let element = Element::of(&token, "");
        let column = element.filter(|it| it.name.rsplit(':').next() == Some("tableColumn"));
        let name = column.and_then(|it| attribute(it.tag, "name"));
        let name = resolved(name.unwrap_or_default()).replace("_x000a_", "\n");
        names.extend(name.lines().map(|it| it.trim().to_owned()));
    }
    names
}

#[derive(Debug)]
pub(in crate::format) struct TableError {
    pub(in crate::format) line: u64,
    pub(in crate::format) problem: String,
}

#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    partners: Vec<Option<usize>>,
    pub(super) rules: &'a XmlRules,
    /// The rule for elements with source text, if there are some.
    pub(super) source_rule: RefCell<String>,
    passage_depth: Cell<usize>,
    error: RefCell<Option<TableError>>,
}

impl<'a> Document<'a> {
    /// Returns the tokens of the element at an index, including its tags.
    pub(super) fn element(&self, index: usize) -> Range<usize> {
        let end = self.partners[index].filter(|end| *end > index);
        index..end.unwrap_or(index) + 1
    }

    pub(super) fn content(&self, element: &Range<usize>) -> Range<usize> {
        element.start + 1..(element.end - 1).max(element.start + 1)
    }

    pub(super) fn source(&self, range: Range<usize>) -> String {
        self.tokens[range].iter().map(|it| it.source).collect()
    }

    pub(super) fn child(&self, content: &Range<usize>, name: &str) -> Option<Range<usize>> {
        let mut at = content.start;
        while at < content.end {
            let whole = self.element(at);
            if Element::of(&self.tokens[at], "").is_some_and(|it| it.name == name) {
                return Some(whole);
            }
            at = whole.end;
        }
        None
    }

    /// Adds the parts of some tokens outside passages. `parent` is the name of the element around them.
    pub(super) fn walk(&self, range: Range<usize>, parent: &str, parts: &mut PartQueue) {
        let mut at = range.start;
        while at < range.end {
            let token = &self.tokens[at];
            let whole = self.element(at);
            let Some(element) = Element::of(token, parent).filter(|_| whole.len() > 1) else {
                parts.push_verbatim(token.source);
                at += 1;
                continue;
            };
            let (rules, content) = (self.rules, self.content(&whole));
            let is_source = self.is_source(element);
            let is_passage = element.is_in(&rules.passages);
            at = whole.end;
            let depth = self.passage_depth.get();
            let is_text = is_source || is_passage;
            if element.is_in(&rules.copied) || is_text && self.is_copied(element, &whole) {
                parts.push_verbatim(&self.source(whole));
                continue;
            }
            self.passage_depth.set(depth + usize::from(is_text));
            if is_source {
                at = self.fill(&whole, &range, parts);
            } else {
                parts.push_verbatim(token.source);
                let outer = self.take_source_language(element);
                match is_passage {
                    true => self.passage(content, element.name, parts),
                    false => self.walk(content, element.name, parts),
                }
                if let Some(outer) = outer {
                    self.source_rule.replace(outer);
                }
                parts.push_verbatim(self.tokens[whole.end - 1].source);
            }
            self.passage_depth.set(depth);
        }
    }

    /// Returns whether an element with text is copied: inside of too many others, or after an error, such as its size.
    fn is_copied(&self, element: Element<'_>, whole: &Range<usize>) -> bool {
        let mut error = self.error.borrow_mut();
        if error.is_some() || self.passage_depth.get() == MAX_PASSAGE_DEPTH {
            return true;
        }
        let tokens = self.tokens[whole.clone()].iter();
        let n_bytes: usize = tokens.map(|it| it.source.len()).sum();
        if n_bytes > MAX_RECORD_BYTES {
            let before = self.tokens[..whole.start].iter();
            let n_lines: usize = before.map(|it| it.source.matches('\n').count()).sum();
            let name = element.name;
            *error = Some(TableError {
                line: n_lines as u64 + 1,
                problem: format!(
                    "the element `{name}` has more than {MAX_RECORD_BYTES} bytes of text and markup, the limit"
                ),
            });
        }
        error.is_some()
    }

    fn passage(&self, content: Range<usize>, name: &str, parts: &mut PartQueue) {
        if let Some(runs) = &self.rules.runs {
            let is_run = |token: &Token<'_>| token.kind == TokenKind::Start(&runs.run);
            if self.tokens[content.clone()].iter().any(is_run) {
                return Paragraph::new(self, runs).push(content, parts);
            }
            let Some(text) = self.child(&content, &runs.text) else {
                return self.walk(content, name, parts);
            };
            // The text of a cell that has no runs.
            let text = self.content(&text);
            parts.push_verbatim(&self.source(content.start..text.start));
            self.push_mixed(text.clone(), name, parts);
            return parts.push_verbatim(&self.source(text.end..content.end));
        }
        self.push_mixed(content, name, parts);
    }

    pub(super) fn push_mixed(&self, content: Range<usize>, name: &str, parts: &mut PartQueue) {
        if self.rules.has_escapes && !is_android_text(&self.tokens[content.clone()]) {
            return parts.push_verbatim(&self.source(content));
        }
        let is_open =
            |token: &Token<'_>| token.kind == TokenKind::Text && has_open_message(token.source);
        if self.tokens[content.clone()].iter().any(is_open) {
            return parts.push_verbatim(&self.source(content));
        }
        let mut items = Vec::new();
        self.mixed(content, name, &mut items);
        if !has_letters(&items) {
            return parts.extend(items.into_iter().flat_map(Item::into_parts));
        }
        let notation: Arc<dyn Notation> = match self.rules.has_escapes {
            true => Arc::new(AndroidText),
            false => Arc::new(XmlText {
                has_hard_line_ends: self.rules.keeps_lines,
            }),
        };
        push_items(items, &notation, parts);
    }

    fn mixed(&self, content: Range<usize>, parent: &str, items: &mut Vec<Item>) {
        let mut at = content.start;
        while at < content.end {
            let token = &self.tokens[at];
            let whole = self.element(at);
            if token.kind == TokenKind::Text {
                self.push_text(token.source, items);
            } else if let TokenKind::CharacterData(data) = token.kind {
                let kind = match data.contains(['<', '&', '\\']) {
                    // Markup of another format.
                    true => ItemKind::Wall,
                    false => ItemKind::Text(data.to_owned()),
                };
                items.push(Item::new(kind, token.source));
            } else if let Some(element) = Element::of(token, parent) {
                self.markup(element, whole.clone(), items);
            } else {
                let parts = vec![self.verbatim(at..at + 1)];
                items.push(markup_item(ItemKind::Point, parts, false));
            }
            at = whole.end;
        }
    }

    fn markup(&self, element: Element<'_>, whole: Range<usize>, items: &mut Vec<Item>) {
        let rules = self.rules;
        let is_copied = element.is_in(&rules.copied) || whole.len() < 3;
        if element.is_in(&rules.dropped) {
            items.push(Item::new(ItemKind::Text(String::new()), self.source(whole)));
        } else if element.is_in(&rules.inline) && !is_copied {
            let last = &self.tokens[whole.end - 1];
            let name = element.name.to_owned();
            // Formatting that ends and begins again is one.
            let close = ItemKind::Close(name.clone());
            let again = items.last().is_some_and(|it| it.kind == close)
                && opened(items) == Some(element.tag);
            match items.last_mut().filter(|_| again) {
                Some(close) => {
                    close.kind = ItemKind::Text(String::new());
                    close.source.push_str(element.tag);
                    close.raw = crate::Raw::default();
                }
                None => items.push(Item::new(ItemKind::Open(name.clone()), element.tag)),
            }
            self.mixed(self.content(&whole), element.name, items);
            items.push(Item::new(ItemKind::Close(name), last.source));
        } else if element.is_in(&rules.ordered) {
            let parts = vec![self.verbatim(whole)];
            items.push(markup_item(ItemKind::Break, parts, false));
        } else {
            let parts = self.inner(element, whole);
            let is_visible = element.is_in(&rules.visible);
            items.push(markup_item(ItemKind::Point, parts, is_visible));
        }
    }

    /// Returns the parts of an element that is copied inside a passage, with the passages in it.
    pub(super) fn inner(&self, element: Element<'_>, whole: Range<usize>) -> Vec<Part> {
        let mut inner = PartQueue::default();
        match element.is_in(&self.rules.copied) {
            true => inner.push_verbatim(&self.source(whole)),
            false => self.walk(whole, element.parent, &mut inner),
        }
        inner.into_parts()
    }

    fn verbatim(&self, range: Range<usize>) -> Part {
        Part::Verbatim(self.source(range))
    }

    fn push_text(&self, source: &str, items: &mut Vec<Item>) {
        for (at, piece) in split_at_entities(source).into_iter().enumerate() {
            match at % 2 {
                0 if self.rules.has_escapes => push_android(piece, items),
                0 if self.rules.keeps_lines => push_lines(piece, items),
                0 => items.push(words(piece)),
                _ => items.push(Item::new(ItemKind::Point, piece)),
            }
        }
    }
}

/// Makes markup, which separates words if it is visible.
pub(super) fn markup_item(kind: ItemKind, parts: Vec<Part>, is_visible: bool) -> Item {
    Item {
        is_visible,
        has_inner_space: is_visible,
        ..Item::of_parts(kind, parts)
    }
}

/// Returns the start tag of the pair that the last item ends.
fn opened(items: &[Item]) -> Option<&str> {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items.iter().rev().take(MAX_ITEMS_BACK) {
        match &item.kind {
            ItemKind::Close(name) => *depths.entry(name).or_default() += 1,
            ItemKind::Open(name) => {
                let depth = depths.get_mut(name.as_str())?;
                *depth -= 1;
                if depths.values().all(|depth| *depth == 0) {
                    return Some(&item.source);
                }
            }
            _ => {}
        }
    }
    None
}
