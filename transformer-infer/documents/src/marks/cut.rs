//! [`cut`]: cuts a passage into sentences.

use std::ops::Range;

use super::sentence::Sentence;
use crate::copied::Copied;
use crate::passage::{Mark, MarkKind, Passage, Raw};

/// A piece of a passage, in the order of the document.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text that is not translated: whitespace between sentences.
    Text(String),
    Raw(Raw),
    Sentence(usize),
}

/// Cuts a passage at the given segments, which are in order and without surrounding whitespace, and adds them to
/// `sentences`. `copied` is the copied text, in order, and `can_write` tells whether the model can write a text.
///
/// The tags of a pair that encloses whole sentences, and points at the edges of sentences, are outside the sentences:
/// only markup inside a sentence has to be put back into its translation.
pub(crate) fn cut(
    passage: &Passage,
    segments: &[Range<usize>],
    copied: &[Copied],
    can_write: &dyn Fn(&str) -> bool,
    sentences: &mut Vec<Sentence>,
) -> Vec<Piece> {
    let passage = &without_empty_pairs(passage);
    let mut cutter = Cutter {
        n_before: sentences.len(),
        passage,
        segments,
        pieces: Vec::new(),
        at: 0,
        next_segment: 0,
        marks: vec![Vec::new(); segments.len()],
    };
    let homes = cutter.homes();
    let mut open: Vec<usize> = Vec::new();
    for (index, mark) in passage.marks.iter().enumerate() {
        cutter.close_until(&mut open, mark.parent, &homes);
        match (&mark.kind, &homes[index]) {
            (MarkKind::Pair { open: tag, .. }, home) => {
                if home.start.is_none() {
                    cutter.raw(mark.range.start..mark.range.start, tag);
                }
                open.push(index);
            }
            (MarkKind::Point { raw } | MarkKind::Break { raw }, home) => {
                if home.start.is_none() {
                    cutter.raw(mark.range.clone(), raw);
                }
            }
        }
    }
    cutter.close_until(&mut open, None, &homes);
    cutter.fill_marks(&homes);
    cutter.advance(passage.text.len());
    for (segment, marks) in segments.iter().zip(cutter.marks) {
        let inside = Copied::inside(copied, segment);
        sentences.push(Sentence::new(passage, segment, inside, &marks, can_write));
    }
    cutter.pieces
}

/// Replaces pairs that enclose no text, including everything inside them, by points: they have no words to follow.
fn without_empty_pairs(passage: &Passage) -> Passage {
    let mut marks: Vec<Mark> = Vec::with_capacity(passage.marks.len());
    // The new index of each mark, or `Err` with the point that now contains it.
    let mut moved: Vec<Result<usize, usize>> = Vec::with_capacity(passage.marks.len());
    let is_empty = |mark: &Mark| {
        let is_pair = matches!(mark.kind, MarkKind::Pair { .. });
        is_pair && passage.text[mark.range.clone()].trim().is_empty()
    };
    let mut index = 0;
    while let Some(mark) = passage.marks.get(index) {
        let parent = mark.parent.and_then(|parent| moved[parent].ok());
        moved.push(Ok(marks.len()));
        index += 1;
        if !is_empty(mark) {
            marks.push(Mark {
                parent,
                ..mark.clone()
            });
            continue;
        }
        let is_inside = |it: &&Mark| it.parent.is_some_and(|parent| parent >= index - 1);
        let n_inside = passage.marks[index..].iter().take_while(is_inside).count();
        let inside = &passage.marks[index..index + n_inside];
        moved.extend(inside.iter().map(|_| Err(marks.len())));
        // The pair becomes a passage: its text is whitespace, which is copied.
        let start = mark.range.start;
        let inside = [mark].into_iter().chain(inside);
        let inside = inside.map(|it| Mark {
            range: it.range.start - start..it.range.end - start,
            parent: it.parent.and_then(|parent| parent.checked_sub(index - 1)),
            kind: it.kind.clone(),
        });
        let pair = Passage {
            text: passage.text[mark.range.clone()].to_owned(),
            marks: inside.collect(),
            notation: passage.notation.clone(),
        };
        index += n_inside;
        marks.push(Mark {
            range: mark.range.clone(),
            parent,
            kind: MarkKind::Point {
                raw: Raw(pair.source_parts()),
            },
        });
    }
    Passage {
        marks,
        ..passage.clone()
    }
}

/// The sentences that contain the two ends of a mark; `None` for an end between sentences.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    start: Option<usize>,
    end: Option<usize>,
}

struct Cutter<'a> {
    /// Number of sentences of other passages.
    n_before: usize,
    passage: &'a Passage,
    segments: &'a [Range<usize>],
    pieces: Vec<Piece>,
    /// Number of bytes of the text that are in pieces.
    at: usize,
    next_segment: usize,
    marks: Vec<Vec<usize>>,
}

impl Cutter<'_> {
    fn homes(&self) -> Vec<Home> {
        let mut homes: Vec<Home> = Vec::with_capacity(self.passage.marks.len());
        for mark in &self.passage.marks {
            let Range { start, end } = mark.range;
            let parent = mark.parent.map(|parent| homes[parent]);
            let home = match mark.kind {
                MarkKind::Pair { .. } => {
                    let inside = self.strictly_inside(start);
                    let at_start = || {
                        let index = self.segments.partition_point(|it| it.start < start);
                        let segment = self.segments.get(index)?;
                        (segment.start == start && end < segment.end && end > start)
                            .then_some(index)
                    };
                    let first = inside.or_else(at_start);
                    let at_end = || {
                        let index = first?;
                        (self.segments[index].end == end).then_some(index)
                    };
                    let last = self.strictly_inside(end).or_else(at_end);
                    Home {
                        start: first,
                        end: last,
                    }
                }
                MarkKind::Point { .. } | MarkKind::Break { .. } => {
                    // A mark at the edge of a sentence is inside if its parent is.
                    let of_parent = parent.filter(|home| home.start == home.end);
                    let of_parent = of_parent.and_then(|home| home.start);
                    let at_edge = of_parent.filter(|index| {
                        let segment = &self.segments[*index];
                        segment.start <= start && end <= segment.end
                    });
                    let inside = self.strictly_inside(start);
                    let inside = inside.filter(|index| end < self.segments[*index].end);
                    let home = inside.or(at_edge);
                    Home {
                        start: home,
                        end: home,
                    }
                }
            };
            homes.push(home);
        }
        homes
    }

    /// Returns the segment that contains a position, edges excluded.
    fn strictly_inside(&self, position: usize) -> Option<usize> {
        let index = self.segments.partition_point(|it| it.end <= position);
        let segment = self.segments.get(index)?;
        (segment.start < position).then_some(index)
    }

    /// Emits all text up to a position, including the sentences that end there or before.
    fn advance(&mut self, position: usize) {
        while let Some(segment) = self.segments.get(self.next_segment)
            && segment.end <= position
        {
            self.text(segment.start);
            let index = self.n_before + self.next_segment;
            self.pieces.push(Piece::Sentence(index));
            self.at = segment.end;
            self.next_segment += 1;
        }
        self.text(position);
    }

    fn text(&mut self, end: usize) {
        if self.at < end {
            let text = self.passage.text[self.at..end].to_owned();
            self.pieces.push(Piece::Text(text));
            self.at = end;
        }
    }

    fn raw(&mut self, range: Range<usize>, raw: &Raw) {
        self.advance(range.start);
        self.pieces.push(Piece::Raw(raw.clone()));
        self.at = self.at.max(range.end);
    }

    /// Emits the closing tags of the pairs inside `parent` that are between sentences.
    fn close_until(&mut self, open: &mut Vec<usize>, parent: Option<usize>, homes: &[Home]) {
        while open.last().copied() != parent
            && let Some(ended) = open.pop()
        {
            let Mark { range, kind, .. } = &self.passage.marks[ended];
            if let (MarkKind::Pair { close, .. }, None) = (kind, homes[ended].end) {
                self.raw(range.end..range.end, close);
            }
        }
    }

    fn fill_marks(&mut self, homes: &[Home]) {
        for (index, home) in homes.iter().enumerate() {
            if let Some(start) = home.start {
                self.marks[start].push(index);
            }
            if let Some(end) = home.end.filter(|_| home.end != home.start) {
                self.marks[end].push(index);
            }
        }
    }
}
