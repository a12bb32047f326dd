//! [`place`]: puts the marks of a sentence back into its translation.

use std::ops::Range;

use super::passage::Raw;
use super::sentence::{Sentence, SentenceMark, SentenceMarkKind, Tag};
use super::units::{Unit, align, is_without_spaces, units};
use crate::attention::Link;

/// A piece of a translation with its marks.
#[derive(Clone, Debug)]
pub(super) enum Chunk<'a> {
    /// Translated text.
    Text(&'a str),
    /// A mark, with or without the whitespace at its edges.
    Raw {
        raw: &'a Raw,
        without_first_space: bool,
        without_last_space: bool,
    },
}

/// Puts the marks of a sentence back into its translation: each exactly once, and pairs nested as in the source.
///
/// A pair encloses the longest sequence of units that translate units inside of it. A pair none of whose words is
/// translated, and a point, go between the translations of their neighbors. Marks are placed between words, or inside
/// of a word that is the same in the source. Breaks keep their order and, if there are enough words, have words between
/// them.
pub(super) fn place<'a>(
    sentence: &'a Sentence,
    translation: &'a str,
    links: &[Link],
) -> Vec<Chunk<'a>> {
    if sentence.marks.is_empty() {
        return vec![Chunk::Text(translation)];
    }
    let mut placement = Placement::new(sentence, translation, links);
    placement.place_pairs();
    placement.place_breaks();
    let mut writer = ChunkWriter {
        placement: &placement,
        chunks: Vec::new(),
        next_unit: 0,
        is_space_due: false,
        replaced: placement.replaced(),
        has_space: true,
        follows_word: false,
        needs_space: false,
        last_source: None,
    };
    writer.write(None, placement.tgt_units.len());
    writer.space();
    writer.chunks
}

struct Placement<'a> {
    sentence: &'a Sentence,
    translation: &'a str,
    src_units: Vec<Unit>,
    tgt_units: Vec<Unit>,
    /// The source unit of each unit of the translation.
    aligned: Vec<Option<usize>>,
    /// The marks directly inside of each mark, and behind them those that are inside of none.
    children: Vec<Vec<usize>>,
    /// For each mark the units of the translation that it encloses, or an empty range before a unit.
    places: Vec<Range<usize>>,
}

impl<'a> Placement<'a> {
    fn new(sentence: &'a Sentence, translation: &'a str, links: &[Link]) -> Self {
        let marks = &sentence.marks;
        let mut cuts: Vec<usize> = marks
            .iter()
            .flat_map(|it| [it.range.start, it.range.end])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let src_units = units(&sentence.text, &cuts);
        let tgt_units = units(translation, &[]);
        let (tgt_units, aligned) = align(
            (&sentence.text, &src_units),
            (translation, tgt_units),
            links,
        );
        let mut children = vec![Vec::new(); marks.len() + 1];
        for (index, mark) in marks.iter().enumerate() {
            children[mark.parent.unwrap_or(marks.len())].push(index);
        }
        Self {
            sentence,
            translation,
            src_units,
            tgt_units,
            aligned,
            children,
            places: vec![0..0; marks.len()],
        }
    }

    fn children(&self, parent: Option<usize>) -> &[usize] {
        &self.children[parent.unwrap_or(self.sentence.marks.len())]
    }

    fn is_pair(&self, index: usize) -> bool {
        matches!(
            self.sentence.marks[index].kind,
            SentenceMarkKind::Pair { .. }
        )
    }

    /// Gives pairs and points their places, from the outside to the inside.
    fn place_pairs(&mut self) {
        let mut parents = vec![(None, 0..self.tgt_units.len())];
        while let Some((parent, within)) = parents.pop() {
            let children = self.children(parent).to_owned();
            let pairs: Vec<usize> = children
                .iter()
                .copied()
                .filter(|it| self.is_pair(*it))
                .collect();
            for (pair, place) in self.runs(&pairs, &within) {
                self.places[pair] = place.unwrap_or_else(|| {
                    let gap = self.gap(pair, &within);
                    gap..gap
                });
            }
            // An empty place must not be inside of another one.
            for empty in &children {
                let is_pair = self.is_pair(*empty);
                if is_pair && !self.places[*empty].is_empty() {
                    continue;
                }
                let gap = match is_pair {
                    true => self.places[*empty].start,
                    false => self.gap(*empty, &within),
                };
                let around = pairs.iter().map(|pair| &self.places[*pair]);
                let around = around
                    .filter(|place| place.start < gap && gap < place.end)
                    .next_back();
                let gap = around.map_or(gap, |place| match gap - place.start < place.end - gap {
                    true => place.start,
                    false => place.end,
                });
                self.places[*empty] = gap..gap;
            }
            for pair in pairs {
                parents.push((Some(pair), self.places[pair].clone()));
            }
        }
    }

    /// Returns for each pair the longest run of units that it owns; `None` if it owns none.
    fn runs(&self, pairs: &[usize], within: &Range<usize>) -> Vec<(usize, Option<Range<usize>>)> {
        let owner = |unit: usize| {
            let src = &self.src_units[self.aligned[unit]?].range;
            pairs.iter().position(|pair| {
                let range = &self.sentence.marks[*pair].range;
                range.start <= src.start && src.end <= range.end
            })
        };
        // The runs of units without those of other pairs between them, with the number of owned units.
        let mut runs: Vec<(usize, Range<usize>, usize)> = Vec::new();
        for unit in within.clone() {
            let Some(owner) = owner(unit) else { continue };
            match runs.last_mut() {
                Some((last, range, n_owned)) if *last == owner => {
                    range.end = unit + 1;
                    *n_owned += 1;
                }
                _ => runs.push((owner, unit..unit + 1, 1)),
            }
        }
        let run = |(position, pair): (usize, &usize)| {
            let own = runs.iter().filter(|(owner, ..)| *owner == position);
            let (begins, ends) = match &self.sentence.marks[*pair].kind {
                SentenceMarkKind::Pair { open, close } => (open.is_some(), close.is_some()),
                _ => (true, true),
            };
            let run = match (begins, ends) {
                // A pair that began before the sentence encloses its first words; one that goes on, the last ones.
                (false, _) => {
                    let first = runs.first().filter(|(owner, ..)| *owner == position);
                    Some(within.start..first.map_or(within.start, |(_, range, _)| range.end))
                }
                (_, false) => {
                    let last = runs.last().filter(|(owner, ..)| *owner == position);
                    Some(last.map_or(within.end, |(_, range, _)| range.start)..within.end)
                }
                (true, true) => {
                    let most = own.clone().map(|(.., n)| *n).max();
                    let mut longest = own.filter(|(.., n)| Some(*n) == most);
                    longest.next().map(|(_, range, _)| range.clone())
                }
            };
            (*pair, run)
        };
        pairs.iter().enumerate().map(run).collect()
    }

    /// Returns the unit before which something without words of its own is written.
    fn gap(&self, index: usize, within: &Range<usize>) -> usize {
        let mark = &self.sentence.marks[index];
        let before = self
            .src_units
            .partition_point(|it| it.range.end <= mark.range.start);
        let behind = self
            .src_units
            .partition_point(|it| it.range.start < mark.range.end.max(mark.range.start));
        let tgt_of = |src: usize, is_last: bool| {
            let mut found = within.clone().filter(|tgt| self.aligned[*tgt] == Some(src));
            match is_last {
                true => found.next_back(),
                false => found.next(),
            }
        };
        let left = |n: usize| {
            before
                .checked_sub(n + 1)
                .and_then(|src| tgt_of(src, true))
                .map(|it| it + 1)
        };
        let right = |n: usize| {
            (behind + n < self.src_units.len())
                .then(|| tgt_of(behind + n, false))
                .flatten()
        };
        // What is at an edge of the sentence stays there.
        if mark.parent.is_none() && before == 0 {
            return within.start;
        }
        if mark.parent.is_none() && behind == self.src_units.len() {
            return within.end;
        }
        // What touches the next word only, precedes it.
        let prefers_right = mark.touches_right && !mark.touches_left;
        let found = (0..self.src_units.len()).find_map(|n| match prefers_right {
            true => right(n).or_else(|| left(n)),
            false => left(n).or_else(|| right(n)),
        });
        let edge = if before == 0 {
            within.start
        } else {
            within.end
        };
        let gap = found.unwrap_or(edge);
        if mark.range.is_empty() {
            gap
        } else {
            self.gap_with_space(gap, within)
        }
    }

    /// Returns the next gap between words with a space between them.
    fn gap_with_space(&self, gap: usize, within: &Range<usize>) -> usize {
        let is_good = |gap: &usize| {
            *gap == within.start || *gap == within.end || !self.space(*gap).is_empty() || {
                let at = self.tgt_units[*gap].range.start;
                let around = [
                    self.translation[..at].chars().next_back(),
                    self.translation[at..].chars().next(),
                ];
                around.into_iter().flatten().any(is_without_spaces)
            }
        };
        (gap..=within.end).find(is_good).unwrap_or(gap)
    }

    /// Returns the gap, or the last one before it with a space, if there is one.
    fn gap_with_space_before(&self, gap: usize) -> usize {
        let has_space = |gap: &usize| !self.space(*gap).is_empty();
        match gap == self.tgt_units.len()
            || self.gap_with_space(gap, &(0..self.tgt_units.len())) == gap
        {
            true => gap,
            false => (1..gap).rev().find(has_space).unwrap_or(gap),
        }
    }

    /// Returns the whitespace before a unit.
    fn space(&self, unit: usize) -> &'a str {
        let end = self
            .tgt_units
            .get(unit)
            .map_or(self.translation.len(), |it| it.range.start);
        let start = unit
            .checked_sub(1)
            .map_or(0, |before| self.tgt_units[before].range.end);
        &self.translation[start..end]
    }

    /// Gives breaks their places: in order, and with words between them if there are enough.
    fn place_breaks(&mut self) {
        let n_units = self.tgt_units.len();
        let marks = &self.sentence.marks;
        let is_break = |index: &usize| matches!(marks[*index].kind, SentenceMarkKind::Break(_));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last_unit = None;
        for index in (0..marks.len()).filter(is_break) {
            // Breaks without a word between them stay together.
            let unit = self
                .src_units
                .partition_point(|it| it.range.end <= marks[index].range.start);
            match groups.last_mut() {
                Some(group) if last_unit == Some(unit) => group.push(index),
                _ => groups.push(vec![index]),
            }
            last_unit = Some(unit);
        }
        let n_groups = groups.len();
        let are_enough = n_units > n_groups;
        let at_edge = |group: Option<&Vec<usize>>, unit: usize| {
            group.is_some_and(|group| {
                self.src_units
                    .partition_point(|it| it.range.end <= marks[group[0]].range.start)
                    == unit
            })
        };
        let first = usize::from(are_enough && !at_edge(groups.first(), 0));
        let last =
            n_units - usize::from(are_enough && !at_edge(groups.last(), self.src_units.len()));
        let gaps = groups.iter().map(|group| self.gap(group[0], &(0..n_units)));
        let mut gaps: Vec<usize> = gaps.collect();
        let mut least = first;
        for gap in &mut gaps {
            *gap = (*gap).clamp(least, n_units);
            least = (*gap + usize::from(are_enough)).min(n_units);
        }
        let mut most = last;
        for (gap, group) in gaps.iter_mut().zip(&groups).rev() {
            *gap = (*gap).min(most);
            if !marks[group[0]].range.is_empty() {
                *gap = self.gap_with_space_before(*gap);
            }
            most = gap.saturating_sub(usize::from(are_enough));
        }
        for (group, gap) in groups.into_iter().zip(gaps) {
            for index in group {
                self.move_break(index, gap);
            }
        }
    }

    /// Puts a break into the innermost pair around its place.
    fn move_break(&mut self, index: usize, gap: usize) {
        let mut ancestors = Vec::new();
        let mut ancestor = self.sentence.marks[index].parent;
        while let Some(pair) = ancestor {
            ancestors.push(pair);
            ancestor = self.sentence.marks[pair].parent;
        }
        let mut parent = None;
        loop {
            let inside = self.children(parent).iter().copied().find(|child| {
                let place = &self.places[*child];
                self.is_pair(*child)
                    && (place.start < gap && gap < place.end
                        || ancestors.contains(child) && place.start <= gap && gap <= place.end)
            });
            match inside {
                Some(child) => parent = Some(child),
                None => break,
            }
        }
        let n_marks = self.sentence.marks.len();
        let before = self.sentence.marks[index].parent.unwrap_or(n_marks);
        self.children[before].retain(|child| *child != index);
        let siblings = &mut self.children[parent.unwrap_or(n_marks)];
        let position = siblings.partition_point(|child| *child < index);
        siblings.insert(position, index);
        self.places[index] = gap..gap;
    }

    /// Returns for each gap whether a mark is written in place of its space.
    fn replaced(&self) -> Vec<bool> {
        let mut replaced = vec![false; self.tgt_units.len() + 1];
        for (mark, place) in self.sentence.marks.iter().zip(&self.places) {
            let replaces = |tag: &Option<Tag>| tag.as_ref().is_some_and(|tag| tag.replaces_space);
            match &mark.kind {
                SentenceMarkKind::Pair { open, close } => {
                    replaced[place.start] |= replaces(open);
                    replaced[place.end] |= replaces(close);
                }
                SentenceMarkKind::Point(_) | SentenceMarkKind::Break(_) => {
                    replaced[place.start] |= !mark.range.is_empty();
                }
            }
        }
        replaced
    }
}

/// Writes the units of a translation with the marks between them.
struct ChunkWriter<'a, 'p> {
    placement: &'p Placement<'a>,
    chunks: Vec<Chunk<'a>>,
    /// The next unit to write.
    next_unit: usize,
    /// Whether the space before it is still to be written.
    is_space_due: bool,
    replaced: Vec<bool>,
    /// Whether whitespace was written behind the last word, or behind the last point.
    has_space: bool,
    /// Whether the last unit or point that was written ends with a word.
    follows_word: bool,
    /// Whether the next word needs a space before it.
    needs_space: bool,
    /// Where in the source the mark is that was written last, unless words follow it.
    last_source: Option<Range<usize>>,
}

impl<'a> ChunkWriter<'a, '_> {
    /// Writes the units up to `end`, with the marks inside of `parent` that are in their places.
    fn write(&mut self, parent: Option<usize>, end: usize) {
        let placement = self.placement;
        let sentence: &'a Sentence = placement.sentence;
        let mut children = placement.children(parent).to_owned();
        children.sort_by_key(|index| {
            let place = &placement.places[*index];
            (place.start, !place.is_empty(), *index)
        });
        for index in children {
            let place = placement.places[index].clone();
            self.units_until(place.start);
            let mark = &sentence.marks[index];
            match &mark.kind {
                SentenceMarkKind::Pair { open, close } => {
                    if let Some(tag) = open {
                        self.space();
                        self.raw(&tag.raw, mark.range.start..mark.range.start);
                    }
                    self.write(Some(index), place.end);
                    if let Some(tag) = close {
                        self.raw(&tag.raw, mark.range.end..mark.range.end);
                    }
                }
                SentenceMarkKind::Point(raw) => self.point(raw, mark),
                SentenceMarkKind::Break(raw) => self.raw(raw, mark.range.clone()),
            }
        }
        self.units_until(end);
    }

    fn units_until(&mut self, end: usize) {
        while self.next_unit < end {
            self.space();
            if self.needs_space && !self.has_space && self.is_word(self.next_unit, false) {
                self.chunks.push(Chunk::Text(" "));
            }
            (self.has_space, self.needs_space) = (false, false);
            let range = self.placement.tgt_units[self.next_unit].range.clone();
            self.chunks
                .push(Chunk::Text(&self.placement.translation[range]));
            self.follows_word = self.is_word(self.next_unit, true);
            self.next_unit += 1;
            self.is_space_due = true;
            self.last_source = None;
        }
    }

    /// Writes the space before the next unit, unless it is written, or a mark replaces it.
    fn space(&mut self) {
        if std::mem::take(&mut self.is_space_due) && !self.replaced[self.next_unit] {
            let space = self.placement.space(self.next_unit);
            if !space.is_empty() {
                self.chunks.push(Chunk::Text(space));
                self.has_space = true;
            }
        }
    }

    /// Writes the text of a mark, which is at a position of the source.
    fn raw(&mut self, raw: &'a Raw, source: Range<usize>) {
        self.chunks.push(Chunk::Raw {
            raw,
            without_first_space: false,
            without_last_space: false,
        });
        self.has_space |= raw.starts_with_space() || raw.ends_with_space();
        self.last_source = Some(source);
    }

    /// Writes a point, without the whitespace that it does not need beside other whitespace or at the edges of the
    /// translation, and with a space if a word would touch it that does not touch it in the source.
    fn point(&mut self, raw: &'a Raw, mark: &SentenceMark) {
        let source = mark.range.clone();
        if !mark.touches_left && !raw.starts_with_space() {
            self.space();
            if !self.has_space && self.follows_word {
                self.chunks.push(Chunk::Text(" "));
            }
        }
        let n_units = self.placement.tgt_units.len();
        let follows_space = match self.chunks.last() {
            None => n_units > 0,
            Some(Chunk::Text(text)) => text.ends_with(char::is_whitespace),
            Some(Chunk::Raw { raw, .. }) => raw.ends_with_space(),
        };
        let last = self.last_source.as_ref();
        let is_beside_last =
            last.is_some_and(|last| last.start == source.start || last.end == source.start);
        let is_last = n_units > 0 && self.next_unit == n_units;
        self.chunks.push(Chunk::Raw {
            raw,
            without_first_space: follows_space && source.start > 0 && !is_beside_last,
            without_last_space: is_last && source.end < self.placement.sentence.text.len(),
        });
        self.has_space = raw.ends_with_space();
        self.follows_word = false;
        self.needs_space = !mark.touches_right;
        self.last_source = Some(source);
    }

    /// Returns whether the last character of a unit, or its first, belongs to a word that spaces separate.
    fn is_word(&self, unit: usize, is_last: bool) -> bool {
        let range = self.placement.tgt_units[unit].range.clone();
        let characters = self.placement.translation[range].chars();
        let mut characters = characters;
        let character = if is_last {
            characters.next_back()
        } else {
            characters.next()
        };
        character.is_some_and(|c| c.is_alphanumeric() && !is_without_spaces(c))
    }
}
