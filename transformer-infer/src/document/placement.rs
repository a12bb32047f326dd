//! [`Placement`]: where the marks of a sentence are in its translation.

use std::ops::Range;

use super::sentence::{Sentence, SentenceMarkKind, Tag};
use super::units::{Unit, align, is_without_spaces, units};
use crate::attention::Link;

/// Where the marks of a sentence are in its translation.
pub(super) struct Placement<'a> {
    pub(super) sentence: &'a Sentence,
    pub(super) translation: &'a str,
    src_units: Vec<Unit>,
    pub(super) tgt_units: Vec<Unit>,
    /// The source unit of each unit of the translation.
    aligned: Vec<Option<usize>>,
    /// The marks directly inside of each mark, and behind them those that are inside of none.
    children: Vec<Vec<usize>>,
    /// For each mark the units of the translation that it encloses, or an empty range before a unit.
    pub(super) spans: Vec<Range<usize>>,
}

impl<'a> Placement<'a> {
    pub(super) fn new(sentence: &'a Sentence, translation: &'a str, links: &[Link]) -> Self {
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
            spans: vec![0..0; marks.len()],
        }
    }

    pub(super) fn children(&self, parent: Option<usize>) -> &[usize] {
        &self.children[parent.unwrap_or(self.sentence.marks.len())]
    }

    fn is_pair(&self, index: usize) -> bool {
        matches!(
            self.sentence.marks[index].kind,
            SentenceMarkKind::Pair { .. }
        )
    }

    /// Gives pairs and points their spans, from the outside to the inside.
    pub(super) fn put_pairs(&mut self) {
        let mut parents = vec![(None, 0..self.tgt_units.len())];
        while let Some((parent, within)) = parents.pop() {
            let children = self.children(parent).to_owned();
            let pairs: Vec<usize> = children
                .iter()
                .copied()
                .filter(|it| self.is_pair(*it))
                .collect();
            for (pair, span) in self.runs(&pairs, &within) {
                self.spans[pair] = span.unwrap_or_else(|| {
                    let gap = self.gap(pair, &within);
                    gap..gap
                });
            }
            // An empty span must not be inside of another one.
            for empty in &children {
                let is_pair = self.is_pair(*empty);
                if is_pair && !self.spans[*empty].is_empty() {
                    continue;
                }
                let gap = match is_pair {
                    true => self.spans[*empty].start,
                    false => self.gap(*empty, &within),
                };
                let around = pairs.iter().map(|pair| &self.spans[*pair]);
                let around = around
                    .filter(|span| span.start < gap && gap < span.end)
                    .next_back();
                let gap = around.map_or(gap, |span| match gap - span.start < span.end - gap {
                    true => span.start,
                    false => span.end,
                });
                self.spans[*empty] = gap..gap;
            }
            for pair in pairs {
                parents.push((Some(pair), self.spans[pair].clone()));
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
    pub(super) fn space(&self, unit: usize) -> &'a str {
        let end = self
            .tgt_units
            .get(unit)
            .map_or(self.translation.len(), |it| it.range.start);
        let start = unit
            .checked_sub(1)
            .map_or(0, |before| self.tgt_units[before].range.end);
        &self.translation[start..end]
    }

    /// Gives breaks their spans: in order, and with words between them if there are enough.
    pub(super) fn put_breaks(&mut self) {
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

    /// Puts a break into the innermost pair around its span.
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
                let span = &self.spans[*child];
                self.is_pair(*child)
                    && (span.start < gap && gap < span.end
                        || ancestors.contains(child) && span.start <= gap && gap <= span.end)
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
        self.spans[index] = gap..gap;
    }

    /// Returns for each gap whether a mark is written instead of its space.
    pub(super) fn replaced(&self) -> Vec<bool> {
        let mut replaced = vec![false; self.tgt_units.len() + 1];
        for (mark, span) in self.sentence.marks.iter().zip(&self.spans) {
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
}
