//! [`Sentence`]: a segment of a passage, with the marks inside it.

use std::ops::Range;

use crate::copied::Copied;
use crate::passage::{MarkKind, Passage, Raw};
use crate::spaces::{Spaces, needs_space};
use crate::variants::Variants;
use transformer_protection::kinds::Keep;
use transformer_protection::protection::Item;

/// A segment that is translated individually.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sentence {
    /// The text, with single spaces between words and no surrounding whitespace.
    pub(crate) text: String,
    /// The marks inside the text, in the order of the document, with outer pairs before inner ones.
    pub(crate) marks: Vec<SentenceMark>,
    /// The items of the text that a translation must keep.
    pub(crate) kept: Vec<Item>,
    /// The ranges of the text that a translation must keep exactly.
    pub(crate) copied: Vec<Range<usize>>,
    /// The texts that a search can require in the translation.
    pub(super) terms: Vec<String>,
    /// The bytes of the passage that were taken out and are marks.
    pub(crate) taken_out: Vec<Range<usize>>,
    pub(crate) variants: Variants,
    /// The sentence without its copied text, if it has any.
    pub(super) hidden: Option<Box<Self>>,
}

#[derive(Clone, Debug)]
pub(crate) struct SentenceMark {
    /// The bytes of the text that a pair encloses; for other marks, the space to replace or an empty range.
    pub(crate) range: Range<usize>,
    /// Index of the innermost pair of the sentence that encloses the mark.
    pub(crate) parent: Option<usize>,
    /// True if a point is written with whitespace before it; after it.
    pub(crate) has_spaces: [bool; 2],
    /// True if the word before it touches it; after it.
    pub(crate) touches: [bool; 2],
    /// True if it keeps its order among others like it.
    pub(crate) is_ordered: bool,
    pub(crate) kind: SentenceMarkKind,
}

#[derive(Clone, Debug)]
pub(crate) enum SentenceMarkKind {
    /// A pair; a tag outside the sentence is absent.
    Pair {
        open: Option<Tag>,
        close: Option<Tag>,
    },
    Point(Raw),
    Break(Raw),
}

#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) raw: Raw,
    /// True if it replaces the whitespace beside it, which is part of `raw`.
    pub(crate) replaces_space: bool,
}

/// A builder that makes a sentence of a segment: words with single spaces between them. Whitespace of more than one
/// space, or among marks, is written with these marks; without a mark, it becomes a break.
pub(super) struct SentenceBuilder<'a> {
    passage: &'a Passage,
    segment: &'a Range<usize>,
    /// Number of bytes of the passage that have been read.
    at: usize,
    text: String,
    marks: Vec<SentenceMark>,
    /// The open pairs: index in the sentence, and end in the passage.
    open: Vec<(usize, usize)>,
    /// The items between the last word and the next.
    gap: Vec<GapItem>,
    /// The text still to be taken out, in reverse order.
    hidden: Vec<&'a Copied>,
    /// The copied text that stays, each with true if the model can write it.
    shown: &'a [(&'a Copied, bool)],
    /// The positions of words in the passage and in the text.
    words: Vec<(usize, usize)>,
}

/// Something between two words, with the index of its mark.
#[derive(Debug)]
enum GapItem {
    /// Whitespace, in the notation of the document.
    Space(String),
    Open(usize),
    Close(usize),
    /// A point or break, and true if the text has a space in its place.
    Point(usize, bool),
    Protected(usize),
}

impl<'a> SentenceBuilder<'a> {
    /// Starts a sentence. `hidden` is taken out, `shown` is copied but stays; both are inside the segment, in order.
    pub(super) fn new(
        passage: &'a Passage,
        segment: &'a Range<usize>,
        hidden: &[&'a Copied],
        shown: &'a [(&'a Copied, bool)],
    ) -> Self {
        Self {
            hidden: hidden.iter().rev().copied().collect(),
            shown,
            words: Vec::new(),
            passage,
            segment,
            at: segment.start,
            text: String::with_capacity(segment.len()),
            marks: Vec::new(),
            open: Vec::new(),
            gap: Vec::new(),
        }
    }

    /// Builds the sentence, given the indices of the marks that are, begin, or end inside it.
    pub(super) fn build(mut self, marks: &[usize]) -> Sentence {
        let hidden = self.hidden.iter().rev();
        let taken_out = hidden.map(|it| it.range.clone()).collect();
        let mut own_indices = Vec::with_capacity(marks.len());
        for index in marks {
            let mark = &self.passage.marks[*index];
            let parent = mark.parent;
            let parent = parent.and_then(|parent| marks.binary_search(&parent).ok());
            let parent = parent.map(|position| own_indices[position]);
            self.close_until(parent);
            let begins_here = mark.range.start >= self.segment.start;
            if begins_here {
                self.words_until(mark.range.start);
            }
            let own_index = self.marks.len();
            own_indices.push(own_index);
            let kind = match &mark.kind {
                MarkKind::Pair { open, close } => {
                    self.open.push((own_index, mark.range.end));
                    if begins_here {
                        self.gap.push(GapItem::Open(own_index));
                    }
                    let ends_here = mark.range.end <= self.segment.end;
                    SentenceMarkKind::Pair {
                        open: begins_here.then(|| Tag::new(open)),
                        close: ends_here.then(|| Tag::new(close)),
                    }
                }
                MarkKind::Point { raw } => SentenceMarkKind::Point(raw.clone()),
                MarkKind::Break { raw } => SentenceMarkKind::Break(raw.clone()),
            };
            if !matches!(kind, SentenceMarkKind::Pair { .. }) {
                let point = GapItem::Point(own_index, !mark.range.is_empty());
                self.gap.push(point);
                self.at = mark.range.end;
            }
            self.marks.push(SentenceMark::new(parent, kind));
        }
        self.close_until(None);
        self.words_until(self.segment.end);
        self.end_gap(None);
        self.end(taken_out)
    }

    fn end(mut self, taken_out: Vec<Range<usize>>) -> Sentence {
        for mark in &mut self.marks {
            if let SentenceMarkKind::Pair { close: None, .. } = mark.kind {
                mark.range.end = self.text.len();
            }
        }
        let kept = self.kept();
        let exact = kept.iter().filter(|item| item.keep != Keep::Digits);
        let copied = exact.map(|item| item.range.clone()).collect();
        // Numbers have other forms in other languages, so they are required only if nothing else is.
        let required = self.shown.iter().filter(|it| it.1);
        let mut required: Vec<&Copied> = required.map(|it| it.0).collect();
        if required.iter().any(|it| !it.is_number()) {
            required.retain(|it| !it.is_number());
        }
        let text_of = |it: &Copied| self.passage.text[it.inner()].to_owned();
        Sentence {
            terms: required.into_iter().map(text_of).collect(),
            variants: Variants::of(&self.text, &kept),
            text: self.text,
            marks: self.marks,
            kept,
            copied,
            taken_out,
            hidden: None,
        }
    }

    fn kept(&self) -> Vec<Item> {
        let moved = |at: usize| {
            let words = &self.words;
            let word = words.partition_point(|(of_passage, _)| *of_passage <= at);
            let (of_passage, of_text) = words[word - 1];
            of_text + at - of_passage
        };
        let items = self.shown.iter().flat_map(|(it, _)| &it.items);
        let item = |Item { range, keep }: &Item| Item {
            range: moved(range.start)..moved(range.end - 1) + 1,
            keep: *keep,
        };
        items.map(item).collect()
    }

    fn close_until(&mut self, parent: Option<usize>) {
        while let Some((index, end)) = self.open.last().copied()
            && Some(index) != parent
        {
            self.words_until(end.min(self.segment.end));
            if end <= self.segment.end {
                self.gap.push(GapItem::Close(index));
            }
            self.open.pop();
        }
    }

    /// Adds words, whitespace, and the marks of text to be taken out, up to a position of the passage.
    fn words_until(&mut self, end: usize) {
        while let Some(copied) = self.hidden.pop_if(|it| it.range.end <= end) {
            let range = copied.range.clone();
            self.plain_words_until(range.start);
            let notation = &self.passage.notation;
            let raw = notation.escape(&self.passage.text[range.clone()]);
            self.gap.push(GapItem::Protected(self.marks.len()));
            let parent = self.open.last().map(|(index, _)| *index);
            let kind = SentenceMarkKind::Point(raw.into_owned().into());
            self.marks.push(SentenceMark {
                is_ordered: copied.is_ordered(),
                ..SentenceMark::new(parent, kind)
            });
            self.at = range.end;
        }
        self.plain_words_until(end);
    }

    fn plain_words_until(&mut self, end: usize) {
        let passage = self.passage;
        let end = end.max(self.at);
        let mut rest = &passage.text[self.at..end];
        self.at = end;
        while !rest.is_empty() {
            let (space, words) = rest.split_at(rest.len() - rest.trim_start().len());
            if !space.is_empty() {
                let space = passage.notation.escape(space).into_owned();
                self.gap.push(GapItem::Space(space));
            }
            let (word, others) =
                words.split_at(words.find(char::is_whitespace).unwrap_or(words.len()));
            if !word.is_empty() {
                self.end_gap(word.chars().next());
                let start = end - others.len() - word.len();
                self.words.push((start, self.text.len()));
                self.text.push_str(word);
            }
            rest = others;
        }
    }

    /// Adds the space before the next word, and sets the positions of the marks there.
    fn end_gap(&mut self, next: Option<char>) {
        let gap = std::mem::take(&mut self.gap);
        let has_space = self.needs_space(&gap, next);
        let before = self.text.len();
        if has_space {
            self.text.push(' ');
        }
        let behind = self.text.len();
        let is_regular = is_regular(&gap);
        self.find_touching_points(&gap, next);
        let mut spaces = String::new();
        let mut last = None;
        for item in gap {
            let index = match item {
                GapItem::Space(space) => {
                    spaces.push_str(&space);
                    continue;
                }
                GapItem::Open(index)
                | GapItem::Close(index)
                | GapItem::Point(index, _)
                | GapItem::Protected(index) => index,
            };
            let mark = &mut self.marks[index];
            match item {
                GapItem::Close(_) => mark.range.end = before,
                GapItem::Open(_) => mark.range = behind..behind,
                _ => mark.range = before..behind,
            }
            if !is_regular {
                let is_close = matches!(item, GapItem::Close(_));
                mark.add_spaces(is_close, &std::mem::take(&mut spaces), "", has_space);
                last = Some((index, is_close));
            }
        }
        if is_regular {
            return;
        }
        if let Some((index, is_close)) = last {
            self.marks[index].add_spaces(is_close, "", &spaces, has_space);
        } else {
            let parent = self.open.last().map(|(index, _)| *index);
            self.marks.push(SentenceMark {
                range: before..behind,
                ..SentenceMark::new(parent, SentenceMarkKind::Break(spaces.into()))
            });
        }
    }

    /// Finds the points of a gap that touch the words around them, and the pairs that do so if they have no words.
    fn find_touching_points(&mut self, gap: &[GapItem], next: Option<char>) {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let words = [self.text.trim_end().chars().next_back(), next];
        let mut gap: Vec<&GapItem> = gap.iter().collect();
        // From the word before the gap, and then from the one after it.
        for (side, word) in words.into_iter().enumerate() {
            let mut touches = is_word(word);
            for item in &gap {
                match item {
                    GapItem::Space(_) => touches = false,
                    GapItem::Point(index, _) | GapItem::Protected(index) => {
                        let mark = &mut self.marks[*index];
                        let spaces = mark.kind.has_spaces();
                        mark.touches[side] = touches && !spaces[side];
                        touches &= spaces == [false; 2];
                    }
                    GapItem::Open(index) if side == 0 => self.marks[*index].touches[0] = touches,
                    GapItem::Close(index) if side == 1 => self.marks[*index].touches[1] = touches,
                    GapItem::Open(_) | GapItem::Close(_) => {}
                }
            }
            gap.reverse();
        }
    }

    /// Returns whether the text needs a space between the last word and the next, which begins with `next`.
    fn needs_space(&self, gap: &[GapItem], next: Option<char>) -> bool {
        let last = self.text.chars().next_back();
        if last.is_none() || next.is_none() {
            return false;
        }
        let is_space = |item: &GapItem| matches!(item, GapItem::Space(_) | GapItem::Point(_, true));
        let is_protected = |item: &GapItem| matches!(item, GapItem::Protected(_));
        let has_space = gap.iter().any(is_space);
        if !gap.iter().any(is_protected) {
            return has_space;
        }
        let on_both_sides = gap.first().is_some_and(is_space) && gap.last().is_some_and(is_space);
        needs_space(last, next, Spaces::on(has_space, on_both_sides))
    }
}

/// Returns whether a gap is at most one space, with ends of pairs before it and starts after it.
fn is_regular(gap: &[GapItem]) -> bool {
    let spaces = |item: &GapItem| matches!(item, GapItem::Space(_));
    let is_close = |item: &&GapItem| matches!(item, GapItem::Close(_));
    let closes = gap.iter().take_while(is_close).count();
    let rest = match &gap[closes..] {
        [GapItem::Space(space), rest @ ..] if space == " " => rest,
        rest if !rest.iter().any(spaces) => rest,
        _ => return false,
    };
    rest.iter().all(|item| matches!(item, GapItem::Open(_)))
}

impl SentenceMarkKind {
    /// Returns whether the text of a point begins and ends with whitespace.
    fn has_spaces(&self) -> [bool; 2] {
        match self {
            Self::Point(raw) | Self::Break(raw) => [raw.starts_with_space(), raw.ends_with_space()],
            Self::Pair { .. } => [false; 2],
        }
    }
}

impl SentenceMark {
    fn new(parent: Option<usize>, kind: SentenceMarkKind) -> Self {
        Self {
            range: 0..0,
            parent,
            has_spaces: kind.has_spaces(),
            touches: [false; 2],
            is_ordered: false,
            kind,
        }
    }

    fn add_spaces(&mut self, is_close: bool, before: &str, after: &str, replaces: bool) {
        let raw = match &mut self.kind {
            SentenceMarkKind::Pair { open, close } => {
                let Some(tag) = (if is_close { close } else { open }) else {
                    return;
                };
                tag.replaces_space |= replaces && !(before.is_empty() && after.is_empty());
                &mut tag.raw
            }
            SentenceMarkKind::Point(raw) | SentenceMarkKind::Break(raw) => raw,
        };
        self.has_spaces[0] |= !before.is_empty();
        self.has_spaces[1] |= !after.is_empty();
        raw.insert_str(before);
        raw.push_str(after);
    }
}

impl Tag {
    fn new(raw: &Raw) -> Self {
        Self {
            raw: raw.clone(),
            replaces_space: false,
        }
    }
}
