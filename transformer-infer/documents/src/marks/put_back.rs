//! [`put_back`]: puts the marks of a sentence back into its translation.

use std::ops::Range;

use super::placement::Placement;
use super::sentence::{Sentence, SentenceMarkKind, Tag};
use crate::Protection;
use crate::passage::Raw;
use transformer_text::Link;
use transformer_text::is_without_spaces;

#[derive(Clone, Debug)]
pub(crate) enum Chunk<'a> {
    Text(&'a str),
    /// A mark, with or without the whitespace at its edges.
    Raw {
        raw: &'a Raw,
        /// The text between the whitespace at its edges; for a mark that keeps its order, that of the next such mark.
        content: &'a Raw,
        without_first_space: bool,
        without_last_space: bool,
    },
}

impl Chunk<'_> {
    /// Returns the output, without the whitespace that is left out.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Raw {
                raw,
                content,
                without_first_space,
                without_last_space,
            } => {
                let (own, content) = (raw.source(), content.source());
                let source = own.replacen(own.trim(), content.trim(), 1);
                let mut text = source.as_str();
                if *without_first_space {
                    text = text.trim_start();
                }
                if *without_last_space {
                    text = text.trim_end();
                }
                text.to_owned()
            }
        }
    }
}

/// Puts the marks of a sentence back into its translation, each exactly once, with pairs nested as in the source.
///
/// A pair encloses the longest sequence of units that translate units inside it. Points, and pairs without translated
/// words, go between the translations of their neighbors. Marks are written between words, or inside a word that is the
/// same in the source. Breaks keep their order and, if there are enough words, have words between them. If all
/// placeholders were taken out, any in the translation are the model's inventions, and are left out.
pub(crate) fn put_back<'a>(
    sentence: &'a Sentence,
    translation: &'a str,
    links: &[Link],
    protection: &Protection,
) -> Vec<Chunk<'a>> {
    if sentence.marks.is_empty() {
        return vec![Chunk::Text(translation)];
    }
    let mut placement = Placement::new(sentence, translation, links, protection);
    placement.put_pairs();
    placement.put_breaks();
    let ordered = sentence.marks.iter().filter_map(|mark| match &mark.kind {
        SentenceMarkKind::Point(raw) if mark.is_ordered => Some(raw),
        _ => None,
    });
    let ordered: Vec<&Raw> = ordered.collect();
    let mut writer = ChunkWriter {
        placement: &placement,
        chunks: Vec::new(),
        next_unit: 0,
        is_space_due: false,
        replaced: replaced(&placement),
        border: Border {
            has_space: true,
            follows_word: false,
            needs_space: false,
        },
        follows_point: false,
        needs_no_last_space: false,
        last_source: None,
        ordered: ordered.into_iter(),
    };
    writer.write(None, placement.tgt_units.len());
    writer.space();
    writer.trim_end();
    writer.chunks
}

struct Border {
    /// True if whitespace was written after the last word or point.
    has_space: bool,
    /// True if the last unit or point that was written ends with a word.
    follows_word: bool,
    /// True if the next word needs a space before it.
    needs_space: bool,
}

struct ChunkWriter<'a, 'p> {
    placement: &'p Placement<'a>,
    chunks: Vec<Chunk<'a>>,
    next_unit: usize,
    /// True if the space before `next_unit` is still to be written.
    is_space_due: bool,
    replaced: Vec<bool>,
    border: Border,
    /// True if a point was written last, and no word or tag after it.
    follows_point: bool,
    /// True if a point that was written last needs no whitespace after it at the end of the translation.
    needs_no_last_space: bool,
    /// The source position of the last mark, unless words have been written after it.
    last_source: Option<Range<usize>>,
    /// The marks that keep their order and have not been written.
    ordered: std::vec::IntoIter<&'a Raw>,
}

impl<'a> ChunkWriter<'a, '_> {
    /// Writes the units up to `end`, with the marks inside `parent` that are in their spans.
    fn write(&mut self, parent: Option<usize>, end: usize) {
        let placement = self.placement;
        let sentence: &'a Sentence = placement.sentence;
        let mut children = placement.children(parent).to_owned();
        children.sort_by_key(|index| {
            let span = &placement.spans[*index];
            (span.start, !span.is_empty(), *index)
        });
        for index in children {
            let span = placement.spans[index].clone();
            self.units_until(span.start);
            let mark = &sentence.marks[index];
            match &mark.kind {
                SentenceMarkKind::Pair { open, close } => {
                    if span.is_empty() && self.is_emphasis_without_text(index, open, close) {
                        continue;
                    }
                    if let Some(tag) = open {
                        self.space();
                        self.raw(&tag.raw, mark.range.start..mark.range.start);
                        self.border.has_space |= tag.replaces_space;
                    }
                    self.write(Some(index), span.end);
                    if let Some(tag) = close {
                        self.raw(&tag.raw, mark.range.end..mark.range.end);
                        self.border.has_space |= tag.replaces_space;
                    }
                }
                SentenceMarkKind::Point(raw) => self.point(raw, index),
                SentenceMarkKind::Break(raw) => self.raw(raw, mark.range.clone()),
            }
        }
        self.units_until(end);
    }

    fn trim_end(&mut self) {
        if let Some(Chunk::Raw {
            without_last_space, ..
        }) = self.chunks.last_mut()
        {
            *without_last_space = self.needs_no_last_space;
        }
    }

    /// Returns whether an empty pair would be text, as `****` is in Markdown: its two ends are the same.
    fn is_emphasis_without_text(
        &self,
        index: usize,
        open: &Option<Tag>,
        close: &Option<Tag>,
    ) -> bool {
        let has_children = !self.placement.children(Some(index)).is_empty();
        match (open, close) {
            (Some(open), Some(close)) if !has_children => {
                open.raw.source().trim() == close.raw.source().trim()
            }
            _ => false,
        }
    }

    fn units_until(&mut self, end: usize) {
        while self.next_unit < end {
            self.space();
            if self.border.needs_space
                && !self.border.has_space
                && self.is_word(self.next_unit, false)
            {
                self.chunks.push(Chunk::Text(" "));
            }
            (self.border.has_space, self.border.needs_space) = (false, false);
            let range = self.placement.tgt_units[self.next_unit].range.clone();
            self.chunks
                .push(Chunk::Text(&self.placement.translation[range]));
            self.border.follows_word = self.is_word(self.next_unit, true);
            self.follows_point = false;
            self.next_unit += 1;
            self.is_space_due = true;
            (self.last_source, self.needs_no_last_space) = (None, false);
        }
    }

    /// Writes the space before the next unit, unless it has been written or a mark replaces it.
    fn space(&mut self) {
        if std::mem::take(&mut self.is_space_due) && !self.replaced[self.next_unit] {
            let space = self.placement.space(self.next_unit);
            if !space.is_empty() {
                self.chunks.push(Chunk::Text(space));
                self.border.has_space = true;
            }
        }
    }

    fn raw(&mut self, raw: &'a Raw, source: Range<usize>) {
        self.chunks.push(Chunk::Raw {
            raw,
            content: raw,
            without_first_space: self.chunks.is_empty() && source.start > 0 && has_one_space(raw),
            without_last_space: false,
        });
        (self.needs_no_last_space, self.follows_point) = (false, false);
        self.border.has_space |= raw.starts_with_space() || raw.ends_with_space();
        self.last_source = Some(source);
    }

    /// Writes a point. Omits whitespace that is not needed next to other whitespace or at the edges of the translation,
    /// and adds a space where a word would touch the point but does not in the source. If the mark keeps its order, the
    /// next one in that order is written instead.
    fn point(&mut self, raw: &'a Raw, index: usize) {
        let mark = &self.placement.sentence.marks[index];
        let next = mark.is_ordered.then(|| self.ordered.next()).flatten();
        let source = mark.range.clone();
        let [touches_left, touches_right] = self.placement.may_touch(index, self.next_unit);
        if !touches_left && !mark.has_spaces[0] {
            self.space();
            if !self.border.has_space && self.border.follows_word {
                self.chunks.push(Chunk::Text(" "));
            }
        }
        let n_units = self.placement.tgt_units.len();
        let follows_space = match self.chunks.last() {
            None => n_units > 0,
            Some(Chunk::Text(text)) => text.ends_with(char::is_whitespace),
            Some(Chunk::Raw { raw, .. }) => raw.ends_with_space(),
        };
        let is_beside = |last: &Range<usize>| [last.start, last.end].contains(&source.start);
        let is_beside_last = self.last_source.as_ref().is_some_and(is_beside);
        let is_apart = self.border.has_space || mark.has_spaces[0] || follows_space;
        if self.follows_point && !is_apart && !is_beside_last {
            self.chunks.push(Chunk::Text(" "));
        }
        self.chunks.push(Chunk::Raw {
            raw,
            content: next.unwrap_or(raw),
            without_first_space: follows_space && source.start > 0 && !is_beside_last,
            without_last_space: false,
        });
        let src_len = self.placement.sentence.text.len();
        self.needs_no_last_space = n_units > 0 && source.end < src_len;
        self.border.has_space = mark.has_spaces[1];
        (self.border.follows_word, self.follows_point) = (false, true);
        self.border.needs_space = !touches_right;
        self.last_source = Some(source);
    }

    /// Returns whether the last or first character of a unit belongs to a word of a script with spaces.
    fn is_word(&self, unit: usize, is_last: bool) -> bool {
        let range = self.placement.tgt_units[unit].range.clone();
        let mut characters = self.placement.translation[range].chars();
        let character = match is_last {
            true => characters.next_back(),
            false => characters.next(),
        };
        character.is_some_and(|c| c.is_alphanumeric() && !is_without_spaces(c))
    }
}

/// Returns whether markup begins with a single space; other whitespace may be the layout of the document.
fn has_one_space(raw: &Raw) -> bool {
    let source = raw.source();
    source.len() == source.trim_start().len() + 1 && source.starts_with(' ')
}

/// Returns for each gap whether a mark replaces its space.
fn replaced(placement: &Placement<'_>) -> Vec<bool> {
    let mut replaced = vec![false; placement.tgt_units.len() + 1];
    let marks = placement.sentence.marks.iter().zip(&placement.spans);
    let written = marks.zip(&placement.is_dropped).filter(|it| !*it.1);
    for ((mark, span), _) in written {
        let replaces = |tag: &Option<Tag>| tag.as_ref().is_some_and(|tag| tag.replaces_space);
        match &mark.kind {
            SentenceMarkKind::Pair { open, close } => {
                replaced[span.start] |= replaces(open);
                replaced[span.end] |= replaces(close);
            }
            SentenceMarkKind::Point(_) | SentenceMarkKind::Break(_) => {
                replaced[span.start] |= !mark.range.is_empty();
            }
        }
    }
    replaced
}
