//! [`Placement`]: the positions of a sentence's marks in its translation.

use std::collections::BTreeSet;
use std::ops::Range;

use super::sentence::{Sentence, SentenceMarkKind};
use super::units::{Owner, best_prefix, best_run};
use super::units::{Unit, aligned_units};
use crate::Protection;
use transformer_text::Link;
use transformer_text::is_without_spaces;

pub(crate) struct Placement<'a> {
    pub(crate) sentence: &'a Sentence,
    pub(crate) translation: &'a str,
    src_units: Vec<Unit>,
    pub(crate) tgt_units: Vec<Unit>,
    /// The source unit that each unit of the translation translates.
    aligned: Vec<Option<usize>>,
    /// The units of the translation for each source unit.
    tgt_of: Vec<Vec<usize>>,
    /// The marks directly inside each mark; last, the marks inside none.
    children: Vec<Vec<usize>>,
    /// The units of the translation that each mark encloses, or an empty range before a unit.
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) is_dropped: Vec<bool>,
    /// Breaks that moved, each with the pair that it moved out of.
    moved: Vec<(usize, usize)>,
}

impl<'a> Placement<'a> {
    pub(crate) fn new(
        sentence: &'a Sentence,
        translation: &'a str,
        links: &[Link],
        protection: &Protection,
    ) -> Self {
        let marks = &sentence.marks;
        let cuts = marks.iter().flat_map(|it| [it.range.start, it.range.end]);
        let mut cuts: Vec<usize> = cuts.collect();
        cuts.sort_unstable();
        cuts.dedup();
        let (src_units, tgt_units, aligned) =
            aligned_units(sentence, &cuts, translation, links, protection);
        let mut tgt_of = vec![Vec::new(); src_units.len()];
        for (tgt, src) in aligned.iter().enumerate() {
            if let Some(src) = src {
                tgt_of[*src].push(tgt);
            }
        }
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
            is_dropped: vec![false; marks.len()],
            moved: Vec::new(),
            tgt_of,
        }
    }

    pub(crate) fn children(&self, parent: Option<usize>) -> &[usize] {
        &self.children[parent.unwrap_or(self.sentence.marks.len())]
    }

    fn is_pair(&self, index: usize) -> bool {
        let kind = &self.sentence.marks[index].kind;
        matches!(kind, SentenceMarkKind::Pair { .. })
    }

    /// Sets the spans of pairs and points, from the outermost inward.
    pub(crate) fn put_pairs(&mut self) {
        let mut parents = vec![(None, 0..self.tgt_units.len())];
        while let Some((parent, within)) = parents.pop() {
            let children = self.children(parent).to_owned();
            let pairs = children.iter().copied().filter(|it| self.is_pair(*it));
            let pairs: Vec<usize> = pairs.collect();
            let mut without_words = Vec::new();
            for (pair, span) in self.runs(&pairs, &within) {
                match span {
                    Some(span) => self.spans[pair] = span,
                    None => without_words.push(pair),
                }
            }
            without_words.sort_unstable();
            for pair in without_words {
                self.spans[pair] = self.span_without_words(pair, &pairs, &within);
            }
            // An empty span must not be inside another span.
            for empty in &children {
                let is_pair = self.is_pair(*empty);
                if is_pair && !self.spans[*empty].is_empty() {
                    continue;
                }
                let gap = match is_pair {
                    true => self.spans[*empty].start,
                    false => self.gap(*empty, &within),
                };
                let mut around = pairs.iter().map(|pair| &self.spans[*pair]);
                let around = around.rfind(|span| span.start < gap && gap < span.end);
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

    /// Returns the span of a pair without translated words: the word after its position, or else before it, if no other
    /// pair has it; otherwise an empty span.
    fn span_without_words(
        &self,
        pair: usize,
        pairs: &[usize],
        within: &Range<usize>,
    ) -> Range<usize> {
        let gap = self.gap(pair, within);
        let is_free = |unit: &usize| {
            within.contains(unit)
                && self.is_word(*unit)
                && !pairs.iter().any(|other| self.spans[*other].contains(unit))
        };
        let range = &self.sentence.marks[pair].range;
        let mut src_units = self.src_units.iter();
        let has_words =
            src_units.any(|it| range.start <= it.range.start && it.range.end <= range.end);
        let around = [Some(gap), gap.checked_sub(1)].into_iter().flatten();
        let word = around.filter(|_| has_words).find(is_free);
        word.map_or(gap..gap, |unit| unit..unit + 1)
    }

    fn is_word(&self, unit: usize) -> bool {
        let range = self.tgt_units[unit].range.clone();
        self.translation[range].contains(char::is_alphanumeric)
    }

    /// Returns the units that each pair encloses; `None` if none of them translates a word of the pair. It is the run
    /// with the highest count of units that translate words of the pair, minus those that translate words outside it.
    /// Runs contain no words of other pairs.
    fn runs(&self, pairs: &[usize], within: &Range<usize>) -> Vec<(usize, Option<Range<usize>>)> {
        let owners: Vec<Owner> = within.clone().map(|unit| self.owner(unit, pairs)).collect();
        let run = |(position, pair): (usize, &usize)| {
            let value = |owner: &Owner| match owner {
                Owner::Pair(other) if *other == position => Some(1),
                Owner::Pair(_) => None,
                Owner::Outside => Some(-1),
                Owner::Nobody => Some(0),
            };
            let values: Vec<Option<isize>> = owners.iter().map(value).collect();
            let (begins, ends) = match &self.sentence.marks[*pair].kind {
                SentenceMarkKind::Pair { open, close } => (open.is_some(), close.is_some()),
                _ => (true, true),
            };
            let start = within.start;
            let run = match (begins, ends) {
                // A pair that began before the sentence encloses its first words; a pair that ends after it, its last
                // words.
                (false, _) => Some(start..start + best_prefix(values.iter().copied())),
                (_, false) => {
                    let n_units = best_prefix(values.iter().rev().copied());
                    Some(within.end - n_units..within.end)
                }
                (true, true) => best_run(&values).map(|run| run.start + start..run.end + start),
            };
            (*pair, run)
        };
        pairs.iter().enumerate().map(run).collect()
    }

    /// Returns the pair that has the word that a unit translates.
    fn owner(&self, unit: usize, pairs: &[usize]) -> Owner {
        let Some(src) = self.aligned[unit] else {
            return Owner::Nobody;
        };
        let src = &self.src_units[src].range;
        let owner = pairs.iter().position(|pair| {
            let range = &self.sentence.marks[*pair].range;
            range.start <= src.start && src.end <= range.end
        });
        owner.map_or(Owner::Outside, Owner::Pair)
    }

    /// Returns the unit before which to write something that has no words.
    fn gap(&self, index: usize, within: &Range<usize>) -> usize {
        let mark = &self.sentence.marks[index];
        let before = self.src_units_before(mark.range.start);
        let is_behind = |it: &Unit| it.range.start < mark.range.end.max(mark.range.start);
        let behind = self.src_units.partition_point(is_behind);
        let left = |n: usize| {
            let mut tgt = self.tgt_of[before.checked_sub(n + 1)?].iter();
            tgt.rfind(|tgt| within.contains(tgt)).map(|it| it + 1)
        };
        let right = |n: usize| {
            let mut tgt = self.tgt_of.get(behind + n)?.iter();
            tgt.find(|tgt| within.contains(tgt)).copied()
        };
        // A mark at an edge of the sentence stays there, unless it touches a word.
        if mark.parent.is_none() && before == 0 && !mark.touches[1] {
            return within.start;
        }
        if mark.parent.is_none() && behind == self.src_units.len() && !mark.touches[0] {
            return within.end;
        }
        // A mark that touches only the next word goes before it.
        let prefers_right = mark.touches[1] && !mark.touches[0];
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
        match mark.range.is_empty() {
            true => gap,
            false => self.gap_with_space(gap, within),
        }
    }

    /// Returns whether the words around a gap may touch a mark: they translate only the words that touch it in the source.
    pub(crate) fn may_touch(&self, index: usize, gap: usize) -> [bool; 2] {
        let mark = &self.sentence.marks[index];
        let before = self.src_units_before(mark.range.start);
        let is_behind = |it: &Unit| it.range.start < mark.range.end;
        let behind = self.src_units.partition_point(is_behind);
        let translates = |tgt: Option<usize>, src: Option<usize>| {
            let aligned = tgt.and_then(|tgt| *self.aligned.get(tgt)?);
            aligned.is_none_or(|aligned| Some(aligned) == src)
        };
        let left = mark.touches[0] && translates(gap.checked_sub(1), before.checked_sub(1));
        let right = mark.touches[1] && translates(Some(gap), Some(behind));
        [left, right]
    }

    fn gap_with_space(&self, gap: usize, within: &Range<usize>) -> usize {
        let is_edge = |gap: usize| gap == within.start || gap == within.end;
        let mut gaps = gap..=within.end;
        let good = gaps.find(|gap| is_edge(*gap) || self.has_space(*gap));
        good.unwrap_or(gap)
    }

    /// Returns whether a gap between units has a space, or would have one in a script with spaces.
    fn has_space(&self, gap: usize) -> bool {
        let Some(unit) = self.tgt_units.get(gap) else {
            return true;
        };
        let (before, behind) = self.translation.split_at(unit.range.start);
        let around = [before.chars().next_back(), behind.chars().next()];
        gap == 0
            || !self.space(gap).is_empty()
            || around.into_iter().flatten().all(is_without_spaces)
    }

    pub(crate) fn space(&self, unit: usize) -> &'a str {
        let (unit, before) = (self.tgt_units.get(unit), unit.checked_sub(1));
        let end = unit.map_or(self.translation.len(), |it| it.range.start);
        let start = before.map_or(0, |before| self.tgt_units[before].range.end);
        // The text between two units may contain inventions.
        let between = &self.translation[start..end];
        &between[between.trim_end().len()..]
    }

    /// Gives breaks positions in order, with words between them; drops line ends without room, joins other breaks.
    pub(crate) fn put_breaks(&mut self) {
        let marks = &self.sentence.marks;
        let is_break = |index: &usize| matches!(marks[*index].kind, SentenceMarkKind::Break(_));
        let src_unit = |index: usize| self.src_units_before(marks[index].range.start);
        // Breaks without a word between them stay together.
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for index in (0..marks.len()).filter(is_break) {
            match groups.last_mut() {
                Some(group) if src_unit(group[0]) == src_unit(index) => group.push(index),
                _ => groups.push(vec![index]),
            }
        }
        let is_inside = |group: &Vec<usize>| {
            !matches!(src_unit(group[0]), 0) && src_unit(group[0]) < self.src_units.len()
        };
        let (mut inside, at_edges): (Vec<Vec<usize>>, Vec<Vec<usize>>) =
            groups.into_iter().partition(is_inside);
        let is_line_end = |group: &Vec<usize>| group.iter().all(|index| self.is_blank(*index));
        let mut dropped = Vec::new();
        let latest = loop {
            match self.latest_gaps(&inside) {
                Ok(latest) => break latest,
                // There is one break too many: drop the last line end.
                Err(()) => match inside.iter().rposition(is_line_end) {
                    Some(position) => dropped.extend(inside.remove(position)),
                    None => break vec![self.tgt_units.len(); inside.len()],
                },
            }
        };
        let mut least = 1;
        let mut gaps = Vec::with_capacity(inside.len());
        for (group, latest) in inside.iter().zip(latest) {
            let wanted = self.gap(group[0], &(0..self.tgt_units.len())).max(least);
            let good = (wanted..=latest).find(|gap| self.is_break_gap(group, *gap));
            let gap = good.unwrap_or(latest);
            gaps.push(gap);
            least = gap + 1;
        }
        let edges = at_edges.iter().map(|group| match src_unit(group[0]) {
            0 => 0,
            _ => self.tgt_units.len(),
        });
        let edges: Vec<usize> = edges.collect();
        let inside = inside.into_iter().zip(gaps);
        for (group, gap) in inside.chain(at_edges.into_iter().zip(edges)) {
            for index in group {
                self.move_break(index, gap);
            }
        }
        for index in dropped {
            self.is_dropped[index] = true;
        }
        self.sort_children();
    }

    /// Returns for each group the last gap that leaves room for the groups after it, or an error if there is no room.
    fn latest_gaps(&self, groups: &[Vec<usize>]) -> Result<Vec<usize>, ()> {
        let mut latest = vec![0; groups.len()];
        let mut end = self.tgt_units.len();
        for (group, latest) in groups.iter().zip(&mut latest).rev() {
            let mut gaps = (1..end).rev();
            end = gaps.find(|gap| self.is_break_gap(group, *gap)).ok_or(())?;
            *latest = end;
        }
        Ok(latest)
    }

    /// Returns whether a break may be in a gap: between words, unless it touches words in the source.
    fn is_break_gap(&self, group: &[usize], gap: usize) -> bool {
        let touches_words = self.sentence.marks[group[0]].range.is_empty();
        touches_words || self.has_space(gap)
    }

    fn is_blank(&self, index: usize) -> bool {
        match &self.sentence.marks[index].kind {
            SentenceMarkKind::Break(raw) => raw.source().trim().is_empty(),
            _ => false,
        }
    }

    fn src_units_before(&self, position: usize) -> usize {
        self.src_units
            .partition_point(|it| it.range.end <= position)
    }

    fn sort_children(&mut self) {
        let moved: BTreeSet<(usize, usize)> = self.moved.drain(..).collect();
        for (parent, children) in self.children.iter_mut().enumerate() {
            children.retain(|child| !self.is_dropped[*child] && !moved.contains(&(*child, parent)));
            children.sort_unstable();
            children.dedup();
        }
    }

    /// Moves a break into the innermost pair around its span.
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
        let before = self.sentence.marks[index].parent;
        if before != parent {
            self.moved.push((index, before.unwrap_or(n_marks)));
            self.children[parent.unwrap_or(n_marks)].push(index);
        }
        self.spans[index] = gap..gap;
    }
}
