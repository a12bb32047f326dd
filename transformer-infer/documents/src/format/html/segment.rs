//! [`push_inline`]: makes passages of text and the markup inside it.

use std::sync::Arc;

use htmlize::Context;

use super::entity::pieces;
use super::notation::{HtmlNotation, Position};
use crate::format::build::build_passage;
use crate::format::items::{Item, ItemKind, is_space, join_points};
use crate::format::parts::PartQueue;
use crate::format::segments::{PassageRules, push_items};
use crate::{Mark, MarkKind, Notation, Passage};

/// The rules for passages at a position of a page.
struct HtmlPassages {
    position: Position,
    context: Context,
}

impl PassageRules for HtmlPassages {
    /// Entities such as `&nbsp;` are text, also at the edges.
    fn is_blank(&self, item: &Item) -> bool {
        match item.kind {
            ItemKind::Text(_) => item.is_spelled_blank(),
            _ => item.is_blank(),
        }
    }

    fn build(&self, items: &mut [Item]) -> Passage {
        // Not before: images at the edges are copied, but not between words of code.
        let mut items = join_points(items.iter().cloned(), Item::is_spelled_blank);
        let mut notation = HtmlNotation::new(self.position);
        let texts = items
            .iter()
            .filter(|item| matches!(item.kind, ItemKind::Text(_)));
        for piece in texts.flat_map(|item| pieces(&item.source, self.context)) {
            match piece.is_entity {
                true => notation.learn_entity(piece.source, &piece.text),
                false => notation.learn_text(piece.source),
            }
        }
        let notation: Arc<dyn Notation> = Arc::new(notation);
        build_passage(&mut items, &notation, with_trimmed_edges)
    }
}

/// Adds text, given as in the file, and markup as passages and copied text.
///
/// Whitespace, comments and images at the edges, pairs around everything, and unpaired tags are copied.
pub(super) fn push_inline(mut items: Vec<Item>, position: Position, parts: &mut PartQueue) {
    let context = match position {
        Position::Content | Position::Preformatted => Context::General,
        Position::Attribute(_) => Context::Attribute,
    };
    for item in &mut items {
        if let ItemKind::Text(text) = &mut item.kind {
            *text = pieces(&item.source, context)
                .map(|piece| piece.text)
                .collect();
        }
    }
    let rules = HtmlPassages { position, context };
    push_items(join_empty_pairs(items), &rules, parts);
}

/// Turns pairs without text, such as anchors and icons, and the marks of footnotes into points.
fn join_empty_pairs(items: Vec<Item>) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::with_capacity(items.len());
    let mut open = Vec::new();
    let (mut n_texts, mut n_words) = (0, 0);
    for item in items {
        match &item.kind {
            ItemKind::Text(text) => {
                n_texts += usize::from(!item.is_spelled_blank());
                n_words += usize::from(text.contains(char::is_alphabetic));
            }
            ItemKind::Open(name) => open.push((joined.len(), n_texts, n_words, name == "sup")),
            ItemKind::Close(_) => {
                if let Some((start, n_texts_before, n_words_before, is_raised)) = open.pop()
                    && (n_texts_before == n_texts || is_raised && n_words_before == n_words)
                {
                    n_texts = n_texts_before;
                    let content = joined.split_off(start);
                    joined.push(joined_pair(content, item));
                    continue;
                }
            }
            ItemKind::Point | ItemKind::Break | ItemKind::Wall => {}
        }
        joined.push(item);
    }
    joined
}

fn joined_pair(content: Vec<Item>, close: Item) -> Item {
    let mut pair = Item::of_parts(ItemKind::Point, Vec::new());
    let inside = content.iter().filter(|item| item.kind == ItemKind::Point);
    let is_word = inside.clone().any(|point| point.is_word);
    let has_text = |item: &Item| matches!(item.kind, ItemKind::Text(_)) && !item.is_spelled_blank();
    let is_visible = inside.clone().any(|point| point.is_visible) || content.iter().any(has_text);
    for item in content.into_iter().chain([close]) {
        pair.append(item);
    }
    Item {
        is_visible,
        is_word,
        ..pair
    }
}

/// Moves whitespace between the tags at both edges into these tags, so that pairs begin and end with words.
fn with_trimmed_edges(mut passage: Passage) -> Passage {
    let Passage { text, marks, .. } = &mut passage;
    let is_point = |mark: &Mark| !matches!(mark.kind, MarkKind::Pair { .. });
    let is_in_pair = |at: usize| {
        let mut pairs = marks.iter().filter(|mark| !is_point(mark));
        pairs.any(|mark| mark.range.contains(&at))
    };
    // Whitespace outside of all pairs stays in the text.
    let (mut start, mut end) = (0, text.len());
    if is_in_pair(0) {
        start = text.bytes().take_while(|byte| is_space(*byte)).count();
    }
    if end > 0 && is_in_pair(end - 1) {
        end -= text
            .bytes()
            .rev()
            .take_while(|byte| is_space(*byte))
            .count();
    }
    let is_at_edge = |mark: &Mark| mark.range.start < start || mark.range.end > end;
    if marks.iter().any(|mark| is_at_edge(mark) && is_point(mark)) {
        return passage;
    }
    let starts = marks.iter().skip(1).map(|mark| mark.range.start.min(start));
    let starts: Vec<usize> = starts.chain([start]).collect();
    for (mark, next) in marks.iter_mut().zip(starts) {
        if let MarkKind::Pair { open, .. } = &mut mark.kind {
            open.push_str(text.get(mark.range.start..next).unwrap_or_default());
        }
    }
    let mut at = end;
    for mark in marks.iter_mut().rev() {
        if let MarkKind::Pair { close, .. } = &mut mark.kind
            && mark.range.end > at
        {
            close.insert_str(&text[at..mark.range.end]);
            at = mark.range.end;
        }
        let inside = |at: usize| at.clamp(start, end) - start;
        mark.range = inside(mark.range.start)..inside(mark.range.end);
    }
    *text = text[start..end].to_owned();
    passage
}
