//! [`Inline`]: the text of a block and the markup inside it.

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{Event, LinkType, Tag};

use super::writer::enclosed;
use super::writer::{Link, MarkdownText};
use crate::Notation;
use crate::format::items::{Item, ItemKind, NAMED, join_atoms, join_points};
use crate::format::parts::PartQueue;
use crate::format::segments::push_items;
use crate::format::value::tag;

/// The text of a block, as far as it has been read.
pub(super) struct Inline<'a> {
    text: &'a str,
    /// The copied ranges inside text that have not been read yet.
    points: &'a [Range<usize>],
    start: usize,
    /// Number of bytes of the text that are in items, or before them.
    at: usize,
    items: Vec<Item>,
    open: Vec<OpenPair>,
}

struct OpenPair {
    item: usize,
    has_text: bool,
    kind: OpenKind,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum OpenKind {
    /// Delimiters around it, or a link with its address.
    Plain,
    /// A link with the name of a reference as its text.
    NamedByText,
    /// A single point: an image, or an address that is a link.
    Point,
}

impl OpenKind {
    fn name(self) -> String {
        match self {
            Self::NamedByText => NAMED.to_owned(),
            Self::Plain | Self::Point => String::new(),
        }
    }
}

impl<'a> Inline<'a> {
    /// Begins with the first event; `at` is the end of the text read before.
    pub(super) fn new(
        text: &'a str,
        points: &'a [Range<usize>],
        at: usize,
        first: &Event<'_>,
        range: &Range<usize>,
    ) -> Self {
        let start = start_with_escape(text, at, first, range.start);
        Self {
            text,
            points: &points[points.partition_point(|point| point.end <= start)..],
            start,
            at: start,
            items: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn end(&self) -> usize {
        self.at
    }

    pub(super) fn push(&mut self, event: Event<'_>, range: Range<usize>) {
        if let Some(pair) = self.open.last()
            && pair.kind == OpenKind::Point
        {
            // Everything inside an image, including nested images, belongs to it.
            match event {
                Event::Start(_) => self.begin(OpenKind::Point, 0, range),
                Event::End(_) => self.end_point(range),
                _ => {}
            }
            return;
        }
        self.push_gap(start_with_escape(self.text, self.at, &event, range.start));
        match event {
            Event::Text(text) => self.push_text_and_points(&text, range),
            Event::SoftBreak => self.push_item(ItemKind::Break, range.end),
            Event::HardBreak => self.push_item(ItemKind::Wall, range.end),
            Event::Start(tag) => self.begin_tag(&tag, range),
            Event::End(_) => self.end_tag(range),
            Event::InlineHtml(html) => self.push_item(html_kind(&html), range.end),
            _ => self.push_item(ItemKind::Point, range.end),
        }
    }

    pub(super) fn push_parts(mut self, is_cell: bool, parts: &mut PartQueue) {
        pair_html(&mut self.items);
        let mut items = join_points(join_atoms(self.items), is_between);
        let links = links(&items);
        for item in &mut items {
            item.raw = enclosed(item).into();
        }
        let notation: Arc<dyn Notation> = Arc::new(MarkdownText { is_cell, links });
        push_items(items, &notation, parts);
    }

    /// Adds the source that the parser skipped before an event: the indentation of a line, or a backslash.
    fn push_gap(&mut self, start: usize) {
        if start <= self.at {
            return;
        }
        let gap = &self.text[self.at..start];
        match self.items.last_mut() {
            Some(last) if matches!(last.kind, ItemKind::Break | ItemKind::Wall) => {
                last.raw.push_str(gap);
                last.source.push_str(gap);
                self.at = start;
            }
            // Spaces before a line end belong to it; the first backslash of `\\|` in a cell belongs to the text.
            _ if gap.trim_start_matches('\\').trim().is_empty() => {}
            _ => self.push_item(ItemKind::Point, start),
        }
    }

    fn push_item(&mut self, kind: ItemKind, end: usize) {
        let end = end.max(self.at);
        self.items.push(Item::new(kind, &self.text[self.at..end]));
        self.at = end;
    }

    /// Adds text in which letters stand for copied ranges.
    fn push_text_and_points(&mut self, text: &str, range: Range<usize>) {
        let is_spelled_out = text.len() == range.len();
        let mut at = range.start;
        while let Some((point, rest)) = self.points.split_first()
            && point.start < range.end
        {
            self.points = rest;
            if point.start < at || point.end > range.end || !is_spelled_out {
                continue;
            }
            if at < point.start {
                let text = &text[at - range.start..point.start - range.start];
                self.push_text(text, point.start);
            }
            self.push_item(ItemKind::Point, point.end);
            at = point.end;
        }
        if at < range.end {
            let text = if is_spelled_out {
                &text[at - range.start..]
            } else {
                text
            };
            self.push_text(text, range.end);
        }
    }

    fn push_text(&mut self, text: &str, end: usize) {
        for pair in &mut self.open {
            pair.has_text = true;
        }
        if let Some(last) = self.items.last_mut()
            && let ItemKind::Text(before) = &mut last.kind
        {
            before.push_str(text);
            let end = end.max(self.at);
            last.source.push_str(&self.text[self.at..end]);
            self.at = end;
        } else {
            self.push_item(ItemKind::Text(text.to_owned()), end);
        }
    }

    fn begin_tag(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let bytes = self.text[range.start..].bytes();
        let delimiter = bytes.take_while(|byte| *byte == b'~').count();
        let (kind, len) = match tag {
            Tag::Strong => (OpenKind::Plain, 2),
            Tag::Strikethrough => (OpenKind::Plain, delimiter.clamp(1, 2)),
            Tag::Link { link_type, .. } => match link_type {
                LinkType::Autolink | LinkType::Email | LinkType::WikiLink { .. } => {
                    (OpenKind::Point, 0)
                }
                LinkType::Collapsed | LinkType::Shortcut => (OpenKind::NamedByText, 1),
                _ => (OpenKind::Plain, 1),
            },
            Tag::Image { .. } => (OpenKind::Point, 0),
            _ => (OpenKind::Plain, 1),
        };
        self.begin(kind, len, range);
    }

    fn begin(&mut self, kind: OpenKind, len: usize, range: Range<usize>) {
        self.open.push(OpenPair {
            item: self.items.len(),
            has_text: false,
            kind,
        });
        if kind != OpenKind::Point {
            self.push_item(ItemKind::Open(kind.name()), range.start + len);
        }
    }

    fn end_tag(&mut self, range: Range<usize>) {
        let Some(pair) = self.open.pop() else {
            return;
        };
        let inner = self.items[pair.item].source.len();
        let end = match pair.kind {
            OpenKind::NamedByText => self.skip_empty_brackets(range.end),
            OpenKind::Plain | OpenKind::Point => range.end,
        };
        self.push_item(ItemKind::Close(pair.kind.name()), end);
        let mut inside = self.items[pair.item..].iter();
        let has_walls = inside.any(|item| item.kind == ItemKind::Wall);
        if !pair.has_text || has_walls && pair.kind == OpenKind::NamedByText {
            let items = self.items.drain(pair.item..);
            let source: String = items.map(|item| item.source).collect();
            self.items.push(Item::new(ItemKind::Point, source));
        } else if pair.kind == OpenKind::NamedByText
            && let Some(close) = self.items.last_mut()
        {
            let name = &self.text[range.start + inner..end - close.source.len()];
            close.raw = format!("][{name}]").into();
        }
    }

    /// Returns the end of a link or image that is named by its text; the parser ends it before `[]`.
    fn skip_empty_brackets(&self, end: usize) -> usize {
        let has_brackets = self.text[..end].ends_with(']') && self.text[end..].starts_with("[]");
        if has_brackets { end + 2 } else { end }
    }

    /// Ends an image, unless it is inside another.
    fn end_point(&mut self, range: Range<usize>) {
        self.open.pop();
        let around = self.open.last();
        if around.is_none_or(|pair| pair.kind != OpenKind::Point) {
            let end = self.skip_empty_brackets(range.end);
            self.push_item(ItemKind::Point, end);
        }
    }
}

/// Returns the start of an event, including the backslash that escapes its first character.
fn start_with_escape(text: &str, at: usize, event: &Event<'_>, start: usize) -> usize {
    let is_escaped = match event {
        Event::Text(content) => content.starts_with(|c: char| c.is_ascii_punctuation()),
        _ => false,
    };
    if is_escaped && start > at && text.as_bytes()[start - 1] == b'\\' {
        start - 1
    } else {
        start
    }
}

/// Returns whether there are no words between points that are joined, as in `` `-x`/`--exec` ``.
fn is_between(item: &Item) -> bool {
    let is_in_word = |c: char| c.is_alphanumeric() || c.is_whitespace();
    matches!(&item.kind, ItemKind::Text(text) if !text.contains(is_in_word))
}

fn links(items: &[Item]) -> Vec<Link> {
    let mut open = Vec::new();
    let mut links = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.kind {
            ItemKind::Open(_) => open.push(index),
            ItemKind::Close(_) => {
                if let Some(start) = open.pop()
                    && items[start].raw.source() == "["
                {
                    let inside = items[start + 1..index].iter();
                    links.push(Link {
                        end: item.raw.source(),
                        source: inside.map(|item| item.source.as_str()).collect(),
                    });
                }
            }
            _ => {}
        }
    }
    links
}

/// Returns the kind of inline HTML: a start or end of a pair with the name of its element, or a point.
pub(super) fn html_kind(html: &str) -> ItemKind {
    match tag(html) {
        Some((kind, len)) if len == html.len() => kind,
        _ => ItemKind::Point,
    }
}

/// Turns tags into points unless they form a pair that is properly nested, both in other pairs and in emphasis or
/// links. The pairs of Markdown itself have no name or are [`NAMED`], and are balanced.
pub(super) fn pair_html(items: &mut [Item]) {
    // The open starts, the outermost first.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..items.len() {
        match &items[index].kind {
            ItemKind::Open(_) => open.push(index),
            ItemKind::Close(name) => {
                let name = name.clone();
                // Open emphasis hides the tags before it.
                let is_own = |name: &str| name.is_empty() || name == NAMED;
                let own =
                    |start: &usize| matches!(&items[*start].kind, ItemKind::Open(it) if is_own(it));
                let last = open.iter().rposition(own).filter(|_| !is_own(&name));
                let first = last.map_or(0, |position| position + 1);
                let start = ItemKind::Open(name);
                let starts = &open[first..];
                let found = starts.iter().rposition(|at| items[*at].kind == start);
                match found {
                    Some(position) => {
                        let unpaired = open.drain(first + position..).skip(1);
                        unpaired.for_each(|at| items[at].kind = ItemKind::Point);
                    }
                    None => items[index].kind = ItemKind::Point,
                }
            }
            ItemKind::Text(_) | ItemKind::Point | ItemKind::Break | ItemKind::Wall => {}
        }
    }
    for at in open {
        items[at].kind = ItemKind::Point;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs tags. `*` and `_` are the start and end of emphasis. Returns `<`, `>` or `.` for each.
    fn paired(tags: &[&str]) -> String {
        let kind = |text: &&str| match *text {
            "*" => ItemKind::Open(String::new()),
            "_" => ItemKind::Close(String::new()),
            html => html_kind(html),
        };
        let mut items: Vec<Item> = tags.iter().map(|it| Item::new(kind(it), *it)).collect();
        pair_html(&mut items);
        let sign = |item: &Item| match item.kind {
            ItemKind::Open(_) => '<',
            ItemKind::Close(_) => '>',
            _ => '.',
        };
        items.iter().map(sign).collect()
    }

    #[test]
    fn balanced_tags_are_pairs_and_others_are_points() {
        assert_eq!(paired(&["<b>", "<i class=\"x\">", "</I>", "</b>"]), "<<>>");
        assert_eq!(
            paired(&["<b>", "<br>", "<p>", "</b>", "</i>", "<u>"]),
            "<..>.."
        );
        assert_eq!(paired(&["<!-- <b> -->", "</b>"]), "..");
    }

    #[test]
    fn tags_across_the_edge_of_emphasis_are_points() {
        assert_eq!(paired(&["*", "<b>", "_", "</b>"]), "<.>.");
        assert_eq!(paired(&["<b>", "*", "</b>", "_"]), ".<.>");
        assert_eq!(paired(&["<b>", "*", "_", "</b>"]), "<<>>");
    }
}
