//! [`Paragraph`]: the runs of a paragraph as one text, with their formatting as pairs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::notation::{resolved, split_at_entities};
use super::rules::{Element, RunNames};
use super::runs::{Markup, Runs, raw};
use super::table::{Document, markup_item};
use super::token::{TokenKind, partners, tokens};
use crate::Part;
use crate::format::build::build_passage;
use crate::format::items::{Item, ItemKind};
use crate::format::parts::PartQueue;
use crate::format::segments::{PassageRules, has_letters, push_items};
use crate::{Notation, Passage};

/// The name of pairs of formatting; no element is called so.
const FORMAT: &str = "<format>";

/// Maximum number of runs and other elements of a field, so that searching for its end takes bounded time.
const MAX_FIELD_ELEMENTS: usize = 1000;

/// Maximum number of fields without an end in a paragraph; after these, no more are searched for.
const MAX_OPEN_FIELDS: usize = 8;

pub(super) struct Paragraph<'d, 'a> {
    document: &'d Document<'a>,
    names: &'d RunNames,
    items: Vec<Item>,
    /// The formatting of each text, by its index.
    formats: BTreeMap<usize, String>,
    /// True if passages inside of the paragraph are not read.
    is_trial: bool,
    n_open_fields: usize,
}

impl<'d, 'a> Paragraph<'d, 'a> {
    pub(super) fn new(document: &'d Document<'a>, names: &'d RunNames) -> Self {
        Self {
            document,
            names,
            items: Vec::new(),
            formats: BTreeMap::new(),
            is_trial: false,
            n_open_fields: 0,
        }
    }

    pub(super) fn push(mut self, content: Range<usize>, parts: &mut PartQueue) {
        let mut trial = Self::new(self.document, self.names);
        trial.is_trial = true;
        trial.read(content.clone(), "");
        if !has_letters(&trial.items) {
            return self.document.walk(content, "", parts);
        }
        drop(trial);
        self.read(content, "");
        let format = self.main_format();
        let notation: Arc<dyn Notation> = Arc::new(Runs {
            names: self.names.clone(),
            format: format.clone(),
            keeps_lines: self.document.rules.keeps_lines,
        });
        push_items(self.with_formats(&format), &InRuns(notation), parts);
    }

    fn read(&mut self, content: Range<usize>, parent: &str) {
        let mut at = content.start;
        while at < content.end {
            let token = self.document.tokens[at];
            let whole = self.document.element(at);
            at = whole.end;
            let Some(element) = Element::of(&token, parent) else {
                self.junk(whole);
                continue;
            };
            let rules = self.document.rules;
            if element.name == self.names.run && whole.len() > 1 {
                at = self.field(&whole, content.end, parent).unwrap_or_else(|| {
                    self.run(&whole);
                    whole.end
                });
            } else if element.is_in(&rules.inline) && whole.len() > 2 {
                let body = self.body(&whole, element.name);
                let name = element.name.to_owned();
                self.between_runs(ItemKind::Open(name.clone()), whole.start..body.start);
                self.read(body.clone(), element.name);
                self.between_runs(ItemKind::Close(name), body.end..whole.end);
            } else if element.is_in(&rules.dropped) || is_head(element.name) {
                self.junk(whole);
            } else {
                let kind = match element.is_in(&rules.ordered) {
                    true => ItemKind::Break,
                    false => ItemKind::Point,
                };
                self.markup(kind, Markup::BetweenRuns, element, whole);
            }
        }
    }

    /// Returns the content of an element around runs: without its properties, or that of its child such as `w:sdtContent`.
    fn body(&self, whole: &Range<usize>, name: &str) -> Range<usize> {
        let child = format!("{name}Content");
        let content = self.document.content(whole);
        match self.document.child(&content, &child) {
            Some(child) => self.document.content(&child),
            None => {
                let properties = self.document.child(&content, &format!("{name}Pr"));
                properties.map_or(content.start, |it| it.end)..content.end
            }
        }
    }

    fn run(&mut self, run: &Range<usize>) {
        let content = self.document.content(run);
        let format = self.document.child(&content, &self.names.format);
        let format = format.map_or_else(String::new, |it| self.format(&self.document.source(it)));
        self.junk(run.start..run.start + 1);
        let mut at = content.start;
        while at < content.end {
            let token = self.document.tokens[at];
            let whole = self.document.element(at);
            at = whole.end;
            match Element::of(&token, &self.names.run) {
                Some(it) if it.name == self.names.text && self.is_text(&whole) => {
                    let source = self.document.source(self.document.content(&whole));
                    let text = resolved(&source).into_owned();
                    // Spaces have the formatting of the words around them.
                    if !text.trim().is_empty() {
                        self.formats.insert(self.items.len(), format.clone());
                    }
                    let item = Item::new(ItemKind::Text(text), self.document.source(whole));
                    self.items.push(item);
                }
                Some(it)
                    if it.name != self.names.format && !it.is_in(&self.document.rules.dropped) =>
                {
                    self.markup(ItemKind::Point, Markup::InRun(&format), it, whole);
                }
                _ => self.junk(whole),
            }
        }
        self.junk(run.end - 1..run.end);
    }

    /// Returns whether an element has text only, without entities of the document.
    fn is_text(&self, whole: &Range<usize>) -> bool {
        let mut content = self.document.tokens[self.document.content(whole)].iter();
        content.all(|it| it.kind == TokenKind::Text && split_at_entities(it.source).len() == 1)
    }

    /// Reads a field from its first run, and returns the index after it. Only the text of links is translated.
    fn field(&mut self, first: &Range<usize>, end: usize, parent: &str) -> Option<usize> {
        let n_of = |range: &Range<usize>, kind: &str| {
            let source = self.document.source(range.clone());
            source.matches(&format!("fldCharType=\"{kind}\"")).count()
        };
        if self.n_open_fields == MAX_OPEN_FIELDS || n_of(first, "begin") == 0 {
            return None;
        }
        let (mut depth, mut at, mut result) = (0, first.start, None);
        let mut n_elements = 0;
        let last = loop {
            let whole = self.document.element(at);
            depth = (depth + n_of(&whole, "begin")).saturating_sub(n_of(&whole, "end"));
            if depth == 1 && n_of(&whole, "separate") > 0 {
                result.get_or_insert(whole.end);
            }
            if depth == 0 {
                break whole;
            }
            at = whole.end;
            n_elements += 1;
            if at >= end || n_elements > MAX_FIELD_ELEMENTS {
                self.n_open_fields += 1;
                return None;
            }
        };
        let code = first.start..result.unwrap_or(last.end);
        let code = self.document.source(code);
        match result.filter(|_| code.contains("HYPERLINK")) {
            Some(result) => {
                self.between_runs(ItemKind::Open(FIELD.to_owned()), first.start..result);
                self.read(result..last.start, parent);
                self.between_runs(ItemKind::Close(FIELD.to_owned()), last.clone());
            }
            None => self.between_runs(ItemKind::Point, first.start..last.end),
        }
        Some(last.end)
    }

    /// Returns formatting without what has no meaning in a translation.
    fn format(&self, source: &str) -> String {
        let names = self.names;
        let tokens = tokens(source);
        let partners = partners(&tokens);
        let (mut kept, mut at) = (String::new(), 0);
        while let Some(token) = tokens.get(at) {
            let end = partners[at].filter(|end| *end > at).unwrap_or(at);
            match Element::of(token, "") {
                Some(it) if it.is_in(&names.ignored) => at = end,
                Some(_) => {
                    kept.push_str(&without_attributes(token.source, &names.ignored_attributes));
                }
                None => kept.push_str(token.source),
            }
            at += 1;
        }
        let name = &names.format;
        let empty = [format!("<{name}></{name}>"), format!("<{name}/>")];
        if empty.contains(&kept) {
            String::new()
        } else {
            kept
        }
    }

    /// Adds markup that is not written again in a changed paragraph.
    fn junk(&mut self, range: Range<usize>) {
        let source = self.document.source(range);
        self.items
            .push(Item::new(ItemKind::Text(String::new()), source));
    }

    fn between_runs(&mut self, kind: ItemKind, range: Range<usize>) {
        let source = self.document.source(range);
        let raw = raw(Markup::BetweenRuns, vec![Part::Verbatim(source.clone())]);
        self.items.push(Item {
            raw,
            ..Item::new(kind, source)
        });
    }

    fn markup(
        &mut self,
        kind: ItemKind,
        markup: Markup<'_>,
        element: Element<'_>,
        whole: Range<usize>,
    ) {
        if self.is_trial {
            return self.junk(whole);
        }
        let parts = match kind {
            // It may be copied at the edge of a passage.
            ItemKind::Break => vec![Part::Verbatim(self.document.source(whole))],
            _ => self.document.inner(element, whole),
        };
        let is_visible = element.is_in(&self.document.rules.visible);
        let raw = raw(markup, parts.clone());
        self.items.push(Item {
            raw,
            ..markup_item(kind, parts, is_visible)
        });
    }

    /// Returns the formatting of the largest part of the text.
    fn main_format(&self) -> String {
        let mut n_letters: BTreeMap<&String, (usize, Reverse<usize>)> = BTreeMap::new();
        for (index, format) in &self.formats {
            if let ItemKind::Text(text) = &self.items[*index].kind {
                let n = text.chars().filter(|c| c.is_alphanumeric()).count();
                n_letters.entry(format).or_insert((0, Reverse(*index))).0 += n;
            }
        }
        // The first of those that are equal.
        let main = n_letters.into_iter().max_by_key(|(_, n)| *n);
        main.map_or_else(String::new, |(format, _)| format.clone())
    }

    /// Returns the items with pairs around text of another formatting. Neighbors with the same formatting are one pair.
    fn with_formats(self, main: &str) -> Vec<Item> {
        let Self { items, formats, .. } = self;
        let mut written: Vec<Item> = Vec::with_capacity(items.len());
        // The formatting of the open pair, and the index after its last text.
        let mut open: Option<(String, usize)> = None;
        for (index, item) in items.into_iter().enumerate() {
            let is_pair = matches!(item.kind, ItemKind::Open(_) | ItemKind::Close(_));
            let format = formats.get(&index);
            let ends = format.is_some_and(|it| open.as_ref().is_some_and(|(open, _)| open != it));
            if (is_pair || ends)
                && let Some((_, end)) = open.take()
            {
                let close = ItemKind::Close(FORMAT.to_owned());
                written.insert(end, tag(close, raw(Markup::EndOfFormat, Vec::new())));
            }
            let Some(format) = format.filter(|it| *it != main) else {
                written.push(item);
                continue;
            };
            // The spaces around the words are between them and other words.
            let [before, item, after] = apart(item);
            written.extend(before);
            if open.is_none() {
                let kind = ItemKind::Open(FORMAT.to_owned());
                written.push(tag(kind, raw(Markup::Format(format), Vec::new())));
            }
            written.extend(item);
            open = Some((format.clone(), written.len()));
            written.extend(after);
        }
        if let Some((_, end)) = open {
            let close = ItemKind::Close(FORMAT.to_owned());
            written.insert(end, tag(close, raw(Markup::EndOfFormat, Vec::new())));
        }
        written
    }
}

const FIELD: &str = "<field>";

/// The rules for the passages of runs: only whole elements are outside of passages.
#[derive(Debug)]
struct InRuns(Arc<dyn Notation>);

impl PassageRules for InRuns {
    fn is_blank(&self, item: &Item) -> bool {
        item.is_blank() && !item.source.is_empty() && is_balanced(&item.source)
    }

    fn build(&self, items: &mut [Item]) -> Passage {
        build_passage(items, &self.0, std::convert::identity)
    }
}

fn tag(kind: ItemKind, raw: crate::Raw) -> Item {
    Item {
        raw,
        ..Item::new(kind, "")
    }
}

/// Divides a text into the spaces before it, its words, and the spaces after it.
fn apart(mut item: Item) -> [Option<Item>; 3] {
    let ItemKind::Text(text) = &mut item.kind else {
        return [None, Some(item), None];
    };
    let n_before = text.len() - text.trim_start().len();
    let after = text.split_off(text.trim_end().len().max(n_before));
    let before: String = text.drain(..n_before).collect();
    let spaces = |text: String| {
        let is_there = !text.is_empty();
        is_there.then(|| Item::new(ItemKind::Text(text), ""))
    };
    [spaces(before), Some(item), spaces(after)]
}

fn is_balanced(source: &str) -> bool {
    let tokens = tokens(source);
    let mut with_partners = tokens.iter().zip(partners(&tokens));
    with_partners.all(|(token, partner)| match token.kind {
        TokenKind::Start(_) | TokenKind::End(_) => partner.is_some(),
        _ => true,
    })
}

/// Returns whether an element holds the properties of the paragraph, and is its first or its last.
fn is_head(name: &str) -> bool {
    matches!(name, "w:pPr" | "a:pPr" | "a:endParaRPr")
}

fn without_attributes(tag: &str, names: &[String]) -> String {
    let mut tag = tag.to_owned();
    for name in names {
        let start = format!(" {name}=\"");
        if let Some(at) = tag.find(&start)
            && let Some(len) = tag[at + start.len()..].find('"')
        {
            tag.replace_range(at..at + start.len() + len + 1, "");
        }
    }
    tag
}
