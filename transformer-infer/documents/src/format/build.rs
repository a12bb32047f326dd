//! [`build_passage`]: builds a passage from items.

use std::sync::Arc;

use super::items::{Item, ItemKind};
use super::spelling::with_source;
use crate::spaces::{Spaces, needs_space};
use crate::{Mark, MarkKind, Notation, Passage, Raw};
use transformer_text::is_without_spaces;

/// Builds a passage from items without walls, and takes their contents. `trim` may move its edges.
pub(super) fn build_passage(
    items: &mut [Item],
    notation: &Arc<dyn Notation>,
    trim: impl FnOnce(Passage) -> Passage,
) -> Passage {
    let source = items.iter().map(|item| item.source.as_str()).collect();
    move_spaces_into_marks(items);
    let next_chars = next_chars(items);
    let mut builder = Builder::default();
    for (item, next) in items.iter_mut().zip(next_chars) {
        builder.push(item, next);
    }
    let passage = Passage {
        text: builder.text,
        marks: builder.marks,
        notation: Arc::clone(notation),
    };
    with_source(trim(passage), source)
}

#[derive(Default)]
struct Builder {
    text: String,
    marks: Vec<Mark>,
    open: Vec<usize>,
}

impl Builder {
    /// Adds an item. `next` is the character of the text after it.
    fn push(&mut self, item: &mut Item, next: Option<char>) {
        let raw = std::mem::take(&mut item.raw);
        let before = self.text.chars().next_back();
        match &item.kind {
            ItemKind::Text(piece) => self.text.push_str(piece),
            ItemKind::Open(_) => {
                let close = Raw::default();
                self.push_mark(MarkKind::Pair { open: raw, close }, false);
                self.open.push(self.marks.len() - 1);
            }
            ItemKind::Close(_) | ItemKind::Wall => self.end_pair(raw),
            ItemKind::Point => {
                let spaces = match Spaces::on(raw.starts_with_space(), raw.ends_with_space()) {
                    Spaces::None if item.has_inner_space => Spaces::OneSide,
                    spaces => spaces,
                };
                let separates = item.is_visible || spaces != Spaces::None;
                let needs_space = separates && needs_space(before, next, spaces);
                self.push_mark(MarkKind::Point { raw }, needs_space);
            }
            ItemKind::Break => {
                // Times of syllables do not split their word.
                let is_tag = item.source.starts_with(['<', '{']);
                let is_in_word =
                    is_tag && (!item.is_visible || !raw.source().contains(char::is_whitespace));
                let needs_space = !is_in_word && do_lines_need_space(before, next);
                self.push_mark(MarkKind::Break { raw }, needs_space);
            }
        }
    }

    fn push_mark(&mut self, kind: MarkKind, needs_space: bool) {
        let start = self.text.len();
        if needs_space {
            self.text.push(' ');
        }
        self.marks.push(Mark {
            range: start..self.text.len(),
            parent: self.open.last().copied(),
            kind,
        });
    }

    fn end_pair(&mut self, raw: Raw) {
        let Some(ended) = self.open.pop() else {
            return;
        };
        let mark = &mut self.marks[ended];
        mark.range.end = self.text.len();
        if let MarkKind::Pair { close, .. } = &mut mark.kind {
            *close = raw;
        }
    }
}

fn move_spaces_into_marks(items: &mut [Item]) {
    for index in 0..items.len() {
        if !matches!(items[index].kind, ItemKind::Point | ItemKind::Break) {
            continue;
        }
        if index > 0 {
            let space = items[index - 1].split_trailing_space();
            items[index].raw.insert_str(&space);
        }
        if index + 1 < items.len() {
            let space = items[index + 1].split_leading_space();
            items[index].raw.push_str(&space);
        }
    }
}

fn next_chars(items: &[Item]) -> Vec<Option<char>> {
    let mut next = None;
    let mut chars = vec![None; items.len()];
    for (item, char) in items.iter().zip(&mut chars).rev() {
        *char = next;
        if let ItemKind::Text(text) = &item.kind {
            next = text.chars().next().or(next);
        }
    }
    chars
}

/// Returns whether the text needs a space in place of a line end; scripts without spaces need none.
fn do_lines_need_space(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    let is_space = before.is_whitespace() || after.is_whitespace();
    !(is_space || is_without_spaces(before) && is_without_spaces(after))
}
