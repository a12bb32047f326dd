//! Makes passages of text and the markup inside it.

use std::sync::Arc;

use htmlize::Context;

use super::entity::pieces;
use super::notation::{HtmlNotation, Position};
use super::scan_tag::is_space;
use crate::format::spelling::with_source;
use crate::spaces::{Spaces, needs_space};
use crate::{Mark, MarkKind, Part, Passage, Raw};

/// Divides text without markup into a passage and the whitespace around it.
pub(super) fn text_parts(source: &str, position: Position) -> Vec<Part> {
    let (before, rest) = source.split_at(n_leading_spaces(source));
    let (text, behind) = rest.split_at(rest.len() - n_trailing_spaces(rest));
    let mut builder = PassageBuilder::new(position);
    builder.text(text);
    let mut parts = Vec::new();
    push_verbatim(&mut parts, before);
    parts.push(builder.finish());
    push_verbatim(&mut parts, behind);
    parts
}

/// Appends copied text.
pub(super) fn push_verbatim(parts: &mut Vec<Part>, text: &str) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(Part::Verbatim(last)) => last.push_str(text),
        _ => parts.push(Part::Verbatim(text.to_owned())),
    }
}

/// Returns the number of bytes of whitespace at the start.
pub(super) fn n_leading_spaces(text: &str) -> usize {
    text.bytes().take_while(|&byte| is_space(byte)).count()
}

/// Returns the number of bytes of whitespace at the end.
pub(super) fn n_trailing_spaces(text: &str) -> usize {
    text.bytes()
        .rev()
        .take_while(|&byte| is_space(byte))
        .count()
}

/// A passage under construction.
#[derive(Debug)]
pub(super) struct PassageBuilder {
    context: Context,
    text: String,
    marks: Vec<Mark>,
    /// The open pairs, the outermost first.
    open: Vec<usize>,
    notation: HtmlNotation,
    /// Whitespace before this index does not belong to a point: there is a tag or an entity in between.
    floor: usize,
    point: Option<Point>,
    /// The source of the passage in the file.
    source: String,
}

/// A point without a right neighbor so far.
#[derive(Debug)]
struct Point {
    parts: Vec<Part>,
    is_visible: bool,
    has_space: bool,
}

impl PassageBuilder {
    pub(super) fn new(position: Position) -> Self {
        Self {
            context: match position {
                Position::Content | Position::Preformatted => Context::General,
                Position::Attribute(_) => Context::Attribute,
            },
            text: String::new(),
            marks: Vec::new(),
            open: Vec::new(),
            notation: HtmlNotation::new(position),
            floor: 0,
            point: None,
            source: String::new(),
        }
    }

    pub(super) fn text(&mut self, source: &str) {
        self.source.push_str(source);
        let mut rest = source;
        if let Some(point) = &mut self.point {
            let (spaces, behind) = source.split_at(n_leading_spaces(source));
            point.has_space |= !spaces.is_empty();
            push_verbatim(&mut point.parts, spaces);
            if behind.is_empty() {
                return;
            }
            rest = behind;
            self.end_point(first_character(behind));
        }
        for piece in pieces(rest, self.context) {
            self.text.push_str(&piece.text);
            if piece.is_entity {
                self.notation.learn_entity(piece.source, &piece.text);
                self.floor = self.text.len();
            } else {
                self.notation.learn_text(piece.source);
            }
        }
    }

    /// Adds something between words.
    pub(super) fn point(&mut self, parts: Vec<Part>, is_visible: bool) {
        self.source.extend(parts.iter().map(Part::source));
        let mut point = self.point.take().unwrap_or_else(|| {
            let n_spaces = n_trailing_spaces(&self.text[self.floor..]);
            let spaces = self.text.split_off(self.text.len() - n_spaces);
            let mut parts = Vec::new();
            push_verbatim(&mut parts, &spaces);
            Point {
                parts,
                is_visible: false,
                has_space: n_spaces > 0,
            }
        });
        point.is_visible |= is_visible;
        for part in parts {
            match part {
                Part::Verbatim(text) => push_verbatim(&mut point.parts, &text),
                passage @ Part::Passage(_) => point.parts.push(passage),
            }
        }
        self.point = Some(point);
    }

    /// Begins a pair. `next` is the next character of the text.
    pub(super) fn open(&mut self, open: Raw, next: Option<char>) {
        self.end_point(next);
        self.source.push_str(&open.source());
        self.floor = self.text.len();
        self.marks.push(Mark {
            range: self.floor..self.floor,
            parent: self.open.last().copied(),
            kind: MarkKind::Pair {
                open,
                close: Raw::default(),
            },
        });
        self.open.push(self.marks.len() - 1);
    }

    /// Ends the innermost pair. `next` is the next character of the text.
    pub(super) fn close(&mut self, raw: Raw, next: Option<char>) {
        self.end_point(next);
        self.source.push_str(&raw.source());
        self.floor = self.text.len();
        if let Some(ended) = self.open.pop() {
            let mark = &mut self.marks[ended];
            mark.range.end = self.floor;
            if let MarkKind::Pair { close, .. } = &mut mark.kind {
                *close = raw;
            }
        }
    }

    fn end_point(&mut self, next: Option<char>) {
        let Some(point) = self.point.take() else {
            return;
        };
        let start = self.text.len();
        let previous = self.text.chars().next_back();
        let raw = Raw(point.parts);
        let spaces = match Spaces::on(raw.starts_with_space(), raw.ends_with_space()) {
            Spaces::None if point.has_space => Spaces::OneSide,
            spaces => spaces,
        };
        let separates = point.is_visible || spaces != Spaces::None;
        if separates && needs_space(previous, next, spaces) {
            self.text.push(' ');
        }
        self.floor = self.text.len();
        self.marks.push(Mark {
            range: start..self.floor,
            parent: self.open.last().copied(),
            kind: MarkKind::Point { raw },
        });
    }

    /// Moves whitespace between the tags at both edges into these tags, so that pairs begin and end with words.
    fn trim_edges(&mut self) {
        let is_point = |mark: &Mark| !matches!(mark.kind, MarkKind::Pair { .. });
        let is_in_pair = |at: usize| {
            let mut pairs = self.marks.iter().filter(|mark| !is_point(mark));
            pairs.any(|mark| mark.range.contains(&at))
        };
        // Whitespace outside of all pairs stays in the text.
        let (mut start, mut end) = (0, self.text.len());
        if is_in_pair(0) {
            start = n_leading_spaces(&self.text);
        }
        if end > 0 && is_in_pair(end - 1) {
            end -= n_trailing_spaces(&self.text);
        }
        let is_at_edge = |mark: &Mark| mark.range.start < start || mark.range.end > end;
        if self
            .marks
            .iter()
            .any(|mark| is_at_edge(mark) && is_point(mark))
        {
            return;
        }
        let starts = self
            .marks
            .iter()
            .skip(1)
            .map(|mark| mark.range.start.min(start));
        let starts: Vec<usize> = starts.chain([start]).collect();
        for (mark, next) in self.marks.iter_mut().zip(starts) {
            if let MarkKind::Pair { open, .. } = &mut mark.kind {
                let space = self.text.get(mark.range.start..next).unwrap_or_default();
                push_verbatim(&mut open.0, space);
            }
        }
        let mut at = end;
        for mark in self.marks.iter_mut().rev() {
            if let MarkKind::Pair { close, .. } = &mut mark.kind
                && mark.range.end > at
            {
                let space = self.text[at..mark.range.end].to_owned();
                close.0.insert(0, Part::Verbatim(space));
                at = mark.range.end;
            }
            let inside = |at: usize| at.clamp(start, end) - start;
            mark.range = inside(mark.range.start)..inside(mark.range.end);
        }
        self.text = self.text[start..end].to_owned();
    }

    /// Returns the passage, or its source if it has no words.
    pub(super) fn finish(mut self) -> Part {
        if !self.text.contains(char::is_alphabetic) {
            return Part::Verbatim(self.source);
        }
        self.end_point(None);
        self.trim_edges();
        let passage = Passage {
            text: self.text,
            marks: self.marks,
            notation: Arc::new(self.notation),
        };
        Part::Passage(with_source(passage, self.source))
    }
}

/// Returns the first character of the text as a person reads it.
pub(super) fn first_character(source: &str) -> Option<char> {
    let head = &source[..source.floor_char_boundary(64)];
    let first = pieces(head, Context::General).next()?;
    first.text.chars().next()
}
