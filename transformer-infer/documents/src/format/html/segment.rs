//! [`push_inline`]: makes passages of text and the markup inside it; and [`HtmlNotation`], the rules for writing them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use htmlize::Context;

use super::entity::pieces;
use super::tokenizer::Quote;
use crate::format::build::build_passage;
use crate::format::items::{Item, ItemKind, is_space, join_points};
use crate::format::parts::PartQueue;
use crate::format::segments::{PassageRules, push_items};
use crate::{Mark, MarkKind, Notation, Passage};

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
        let is_text = |item: &&Item| matches!(item.kind, ItemKind::Text(_));
        let texts = items.iter().filter(is_text);
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

/// Adds text, given as in the file, and markup as passages and copied text. Whitespace, comments and images at the
/// edges, pairs around everything, and unpaired tags are copied.
pub(super) fn push_inline(mut items: Vec<Item>, position: Position, parts: &mut PartQueue) {
    let context = match position {
        Position::Content | Position::Preformatted => Context::General,
        Position::Attribute(_) => Context::Attribute,
    };
    for item in &mut items {
        if let ItemKind::Text(text) = &mut item.kind {
            let pieces = pieces(&item.source, context);
            *text = pieces.map(|piece| piece.text).collect();
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
    (pair.is_visible, pair.is_word) = (is_visible, is_word);
    pair
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
        let last = text.bytes().rev();
        end -= last.take_while(|byte| is_space(*byte)).count();
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

/// A notation that writes characters as their passage does.
#[derive(Clone, Debug, Default)]
pub(in crate::format) struct HtmlNotation {
    /// The spellings of characters that the passage writes as entities.
    spellings: BTreeMap<char, String>,
    /// Those of `&`, `<`, `>` that the passage writes unescaped.
    bare: Vec<char>,
    position: Position,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Position {
    #[default]
    Content,
    Preformatted,
    Attribute(Quote),
}

impl HtmlNotation {
    pub(super) fn new(position: Position) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// Remembers that the passage writes this text as an entity.
    pub(in crate::format) fn learn_entity(&mut self, source: &str, text: &str) {
        let mut characters = text.chars();
        let (Some(character), None) = (characters.next(), characters.next()) else {
            return;
        };
        // If one `a` is written as a number, other letters `a` need not be. A bare carriage return would be a line
        // feed.
        let is_plain = character.is_ascii_alphanumeric()
            || character.is_ascii_whitespace()
            || character.is_ascii_control();
        if !is_plain || character == '\r' {
            self.spellings.entry(character).or_insert_with(|| {
                // Without a semicolon, the next character could change the entity.
                format!("{};", source.trim_end_matches(';'))
            });
        }
    }

    /// Remembers that the passage writes these characters unescaped.
    pub(in crate::format) fn learn_text(&mut self, text: &str) {
        for character in ['&', '<', '>'] {
            if text.contains(character) && !self.bare.contains(&character) {
                self.bare.push(character);
            }
        }
    }

    /// Returns the spelling of a character before the rest of the text, unless it is written unescaped.
    fn spelling(&self, character: char, rest: &str) -> Option<&str> {
        let next = rest.chars().next();
        if (character, next) == ('\r', Some('\n')) {
            return None;
        }
        if let Some(spelling) = self.spellings.get(&character) {
            return Some(spelling);
        }
        let is_bare = self.bare.contains(&character);
        match (character, self.position) {
            ('&', _) => {
                let is_safe = next.is_some_and(|next| next.is_whitespace());
                (!is_bare || !is_safe).then_some("&amp;")
            }
            ('<', Position::Content | Position::Preformatted) => {
                let is_safe = next.is_some_and(|next| next.is_whitespace() || next.is_numeric());
                (!is_bare || !is_safe).then_some("&lt;")
            }
            ('<', _) => (!is_bare).then_some("&lt;"),
            ('>', _) => (!is_bare).then_some("&gt;"),
            ('"', Position::Attribute(Quote::Double | Quote::None)) => Some("&quot;"),
            ('\'', Position::Attribute(Quote::Single)) => Some("&#39;"),
            _ => None,
        }
    }
}

impl Notation for HtmlNotation {
    fn has_soft_line_ends(&self) -> bool {
        self.position != Position::Preformatted
    }

    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut escaped = String::new();
        let mut copied = 0;
        for (at, character) in text.char_indices() {
            let behind = at + character.len_utf8();
            if let Some(spelling) = self.spelling(character, &text[behind..]) {
                escaped.push_str(&text[copied..at]);
                escaped.push_str(spelling);
                copied = behind;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        escaped.push_str(&text[copied..]);
        Cow::Owned(escaped)
    }

    fn complete(&self, written: String) -> String {
        let needs_quotes = |character: char| {
            character.is_ascii_whitespace()
                || matches!(character, '"' | '\'' | '=' | '<' | '>' | '`')
        };
        let is_unquoted = self.position == Position::Attribute(Quote::None);
        match is_unquoted && (written.is_empty() || written.contains(needs_quotes)) {
            true => format!("\"{written}\""),
            false => written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_translated_text_is_escaped() {
        let notation = HtmlNotation::new(Position::Content);
        assert_eq!(notation.escape("a<b>&c \"d\""), "a&lt;b&gt;&amp;c \"d\"");
    }

    #[test]
    fn a_character_is_written_as_the_passage_writes_it() {
        let mut notation = HtmlNotation::new(Position::Content);
        notation.learn_entity("&eacute;", "é");
        assert_eq!(notation.escape("été ê"), "&eacute;t&eacute; ê");
    }

    #[test]
    fn an_ampersand_that_the_passage_writes_bare_stays_so_where_it_is_no_entity() {
        let mut notation = HtmlNotation::new(Position::Content);
        notation.learn_text("a & b");
        assert_eq!(notation.escape("x & y&amp;"), "x & y&amp;amp;");
    }

    #[test]
    fn quotation_marks_that_would_end_the_attribute_are_escaped() {
        let notation = HtmlNotation::new(Position::Attribute(Quote::Single));
        assert_eq!(notation.escape("l'eau \"x\""), "l&#39;eau \"x\"");
    }

    #[test]
    fn an_attribute_without_quotation_marks_gets_them_if_it_needs_them() {
        let notation = HtmlNotation::new(Position::Attribute(Quote::None));
        assert_eq!(
            notation.complete("zwei Wörter".to_owned()),
            "\"zwei Wörter\""
        );
    }
}
