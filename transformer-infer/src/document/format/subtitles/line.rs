//! [`read_line`]: the text and markup of a line of a cue; and [`WebVttText`], how text is written in one.

use std::borrow::Cow;

use super::options::SubtitleKind;
use super::tag::Tag;
use crate::document::Notation;
use crate::document::format::items::{Item, ItemKind};

const SPACES: [char; 2] = [' ', '\t'];

/// How text is written in SubRip: as it is, in one line.
#[derive(Debug)]
pub(super) struct SubRipText;

/// How text is written in WebVTT.
#[derive(Debug)]
pub(super) struct WebVttText;

impl Notation for SubRipText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains(['\n', '\r']) {
            Cow::Owned(text.replace(['\n', '\r'], " "))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl Notation for WebVttText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(['&', '<', '>', '\n', '\r']) {
            return Cow::Borrowed(text);
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        for char in text.chars() {
            match char {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '\n' | '\r' => escaped.push(' '),
                _ => escaped.push(char),
            }
        }
        Cow::Owned(escaped)
    }
}

/// Reads a line without its line end.
///
/// A dash before the words of a speaker, and the name of a voice, are walls: another speaker begins another sentence.
pub(super) fn read_line(kind: SubtitleKind, line: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut rest = line;
    let mut is_start = true;
    while !rest.is_empty() {
        if let Some(tag) = Tag::parse(kind, rest) {
            let (source, after) = rest.split_at(tag.len);
            is_start &= !matches!(tag.kind, ItemKind::Text(_));
            push(&mut items, Item::new(tag.kind, source));
            rest = after;
            continue;
        }
        if is_start && let Some(len) = dash_len(rest) {
            let (dash, after) = rest.split_at(len);
            push(&mut items, Item::new(ItemKind::Wall, dash));
            rest = after;
            is_start = false;
            continue;
        }
        if let Some(after) = rest.strip_prefix('\r') {
            push(&mut items, Item::new(ItemKind::Break, "\r"));
            rest = after;
            continue;
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let len = rest[first..]
            .find(['<', '{', '&', '\r'])
            .map_or(rest.len(), |at| at + first);
        let (text, after) = rest.split_at(len);
        is_start &= text.trim_matches(SPACES).is_empty();
        push(&mut items, Item::text(text));
        rest = after;
    }
    items
}

/// Adds an item; text is joined to text before it.
fn push(items: &mut Vec<Item>, item: Item) {
    if let ItemKind::Text(text) = &item.kind
        && let Some(last) = items.last_mut()
        && let ItemKind::Text(before) = &mut last.kind
    {
        before.push_str(text);
        last.source.push_str(&item.source);
    } else {
        items.push(item);
    }
}

/// Returns the length of a dash before a speaker's words, with the whitespace around it.
fn dash_len(line: &str) -> Option<usize> {
    let is_dash = |c| matches!(c, '-' | '‐' | '–' | '—');
    let after = line.trim_start_matches(SPACES).strip_prefix(is_dash)?;
    let words = after.trim_start_matches(SPACES);
    let first = words.chars().next()?;
    let is_number = first.is_ascii_digit() && words.len() == after.len();
    (!is_dash(first) && !is_number).then(|| line.len() - words.len())
}
