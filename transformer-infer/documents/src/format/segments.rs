//! [`push_items`]: divides items into passages and copied text.

use std::convert::identity;
use std::ops::Range;
use std::sync::Arc;

use super::build::build_passage;
use super::items::{Item, ItemKind, NAMED};
use super::parts::PartQueue;
use crate::{Notation, Passage};

/// The rules of a format for its passages. Most have a [`Notation`] alone.
pub(super) trait PassageRules {
    /// Returns whether an item belongs to no sentence if it is at the edge of a passage.
    fn is_blank(&self, item: &Item) -> bool {
        item.is_blank()
    }

    /// Builds a passage from items without walls, and takes their contents.
    fn build(&self, items: &mut [Item]) -> Passage;
}

impl PassageRules for Arc<dyn Notation> {
    fn build(&self, items: &mut [Item]) -> Passage {
        build_passage(items, self, identity)
    }
}

/// Adds items to the queue: as passages between walls, and verbatim where there is nothing to translate. Markup that is
/// not closed, or that encloses a wall, becomes a wall.
pub(super) fn push_items(mut items: Vec<Item>, rules: &impl PassageRules, parts: &mut PartQueue) {
    let ends = match_pairs(&mut items);
    let mut start = 0;
    for end in 0..=items.len() {
        if end < items.len() && items[end].kind != ItemKind::Wall {
            continue;
        }
        push_segment(&mut items, &ends, start..end, rules, parts);
        if let Some(wall) = items.get(end) {
            parts.extend(wall.clone().into_parts());
        }
        start = end + 1;
    }
}

/// Returns the index of the end of each pair, and turns unpaired markup into walls.
fn match_pairs(items: &mut [Item]) -> Vec<Option<usize>> {
    let mut ends = vec![None; items.len()];
    let mut open: Vec<usize> = Vec::new();
    // The number of walls before each item, to see whether a pair encloses one.
    let mut n_walls = Vec::with_capacity(items.len());
    let mut n = 0;
    for index in 0..items.len() {
        n_walls.push(n);
        match &items[index].kind {
            ItemKind::Wall => n += 1,
            ItemKind::Open(_) => open.push(index),
            ItemKind::Close(name) => {
                let begins = |start: &mut usize| items[*start].kind == ItemKind::Open(name.clone());
                if let Some(start) = open.pop_if(begins) {
                    if n_walls[start] == n {
                        ends[start] = Some(index);
                        continue;
                    }
                    items[start].kind = ItemKind::Wall;
                }
                items[index].kind = ItemKind::Wall;
                n += 1;
            }
            ItemKind::Text(_) | ItemKind::Point | ItemKind::Break => {}
        }
    }
    // Matched pairs enclose only matched pairs, so these starts are in none.
    for start in open {
        items[start].kind = ItemKind::Wall;
    }
    ends
}

fn push_segment(
    items: &mut [Item],
    ends: &[Option<usize>],
    range: Range<usize>,
    rules: &impl PassageRules,
    parts: &mut PartQueue,
) {
    let (mut start, mut end) = (range.start, range.end);
    // Pairs and whitespace around the whole text are not translated.
    loop {
        if start < end && rules.is_blank(&items[start]) {
            start += 1;
        } else if start < end && rules.is_blank(&items[end - 1]) {
            end -= 1;
        } else if start < end
            && ends[start].is_some_and(|last| last + 1 == end)
            && items[start].kind != ItemKind::Open(NAMED.to_owned())
        {
            start += 1;
            end -= 1;
        } else {
            break;
        }
    }
    if !has_letters(&items[start..end]) {
        (start, end) = (range.end, range.end);
    }
    let copy = |items: &[Item], parts: &mut PartQueue| {
        parts.extend(items.iter().cloned().flat_map(Item::into_parts));
    };
    copy(&items[range.start..start], parts);
    if start < end {
        let after = items[end - 1].split_trailing_space();
        parts.push_verbatim(&items[start].split_leading_space());
        parts.push_passage(rules.build(&mut items[start..end]));
        parts.push_verbatim(&after);
    }
    copy(&items[end..range.end], parts);
}

pub(super) fn has_letters(items: &[Item]) -> bool {
    let is_letters =
        |item: &Item| matches!(&item.kind, ItemKind::Text(it) if it.contains(char::is_alphabetic));
    items.iter().any(is_letters)
}
