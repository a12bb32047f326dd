//! [`Copied`]: text that is copied, as it is taken out of a sentence.

use std::ops::Range;

use super::Protection;
use super::passage::{Mark, MarkKind, Passage};
use transformer_protection::kinds::Keep;
use transformer_protection::protection::Item;

/// Maximum number of bytes of the sign between two items that are copied together.
const MAX_JOINER_BYTES: usize = 6;

/// Quotes and brackets that stay with the text between them.
const AROUND: &[&str] = &[
    "\"\"", "''", "``", "()", "[]", "{}", "<>", "“”", "‘’", "«»", "»«", "„“", "‚‘", "‹›", "「」",
    "『』", "（）",
];

/// Items that touch, or are separated by a sign only, such as `%dx%d` and `{a}–{b}`.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    /// The bytes of the passage that are taken out: the items, including quotes and brackets around them.
    pub(super) range: Range<usize>,
    pub(super) items: Vec<Item>,
}

impl Copied {
    /// Returns the copied text of a passage, without items that contain the edge of a mark or are a mark themselves.
    pub(super) fn find(passage: &Passage, protection: &Protection) -> Vec<Self> {
        let (text, marks) = (&passage.text, &passage.marks);
        let items = protection.items(text);
        let edges = marks.iter().flat_map(|it| [it.range.start, it.range.end]);
        let mut edges: Vec<usize> = edges.collect();
        edges.sort_unstable();
        let is_point = |mark: &&Mark| !matches!(mark.kind, MarkKind::Pair { .. });
        let points = marks.iter().filter(is_point).map(|it| &it.range);
        let points = points.filter(|range| !range.is_empty());
        let points: Vec<usize> = points.map(|range| range.start).collect();
        let is_whole = |range: &Range<usize>| {
            let next_edge = edges.partition_point(|edge| *edge <= range.start);
            let next_point = points.partition_point(|start| *start < range.start);
            let (edge, point) = (edges.get(next_edge), points.get(next_point));
            [edge, point].iter().flatten().all(|at| **at >= range.end)
        };
        // If an item contains an edge, its parts are searched; but digits on both sides may be of two numbers.
        let parts = |item: Item| {
            if is_whole(&item.range) {
                return vec![item];
            }
            let Range { start, end } = item.range;
            let first = edges.partition_point(|edge| *edge < start);
            let inside = edges[first..].iter().take_while(|edge| **edge < end);
            let ends = inside.clone().chain([&end]);
            let ranges = [&start].into_iter().chain(inside).zip(ends);
            let of_part = |(start, end): (&usize, &usize)| {
                let items = protection.items(&text[*start..*end]).into_iter();
                let start = *start;
                items.map(move |item| Item {
                    range: start + item.range.start..start + item.range.end,
                    ..item
                })
            };
            ranges
                .flat_map(of_part)
                .filter(|it| it.keep != Keep::Digits && is_whole(&it.range))
                .collect()
        };
        Self::joined(text, items.into_iter().flat_map(parts), is_whole)
    }

    /// Joins items that touch or are separated by a sign only, and adds the quotes and brackets around them.
    fn joined(
        text: &str,
        items: impl Iterator<Item = Item>,
        is_whole: impl Fn(&Range<usize>) -> bool,
    ) -> Vec<Self> {
        let mut copied: Vec<Self> = Vec::new();
        for item in items {
            let joined = copied.last_mut().filter(|last| {
                let whole = last.range.start..item.range.end;
                is_joiner(&text[last.range.end..item.range.start]) && is_whole(&whole)
            });
            match joined {
                Some(last) => {
                    last.range.end = item.range.end;
                    last.items.push(item);
                }
                None => copied.push(Self {
                    range: item.range.clone(),
                    items: vec![item],
                }),
            }
        }
        for it in &mut copied {
            while let Some(wider) = with_quotes(text, &it.range).filter(&is_whole) {
                it.range = wider;
            }
        }
        copied
    }

    /// Returns the elements of an ordered list that are inside a range of the passage.
    pub(super) fn inside<'a>(copied: &'a [Self], range: &Range<usize>) -> &'a [Self] {
        let first = copied.partition_point(|it| it.range.start < range.start);
        let last = copied.partition_point(|it| it.range.end <= range.end);
        &copied[first..last.max(first)]
    }

    /// Returns the bytes of the passage from the first item to the last.
    pub(super) fn inner(&self) -> Range<usize> {
        let range = |item: Option<&Item>| item.map_or(&self.range, |item| &item.range).clone();
        range(self.items.first()).start..range(self.items.last()).end
    }

    pub(super) fn is_number(&self) -> bool {
        self.items.iter().all(|item| item.keep == Keep::Digits)
    }

    /// Returns whether programs fill a part of it by position.
    pub(super) fn is_ordered(&self) -> bool {
        self.items.iter().any(|item| item.keep == Keep::InOrder)
    }

    /// Returns whether the model may see it: it can write it with the same spaces, and it contains no words.
    pub(super) fn can_be_shown(&self, text: &str, can_write: &dyn Fn(&str) -> bool) -> bool {
        let inner = &text[self.inner()];
        let is_odd_space = |(at, c): (usize, char)| {
            c.is_whitespace() && (c != ' ' || inner[at + 1..].starts_with(char::is_whitespace))
        };
        let is_plain = |item: &Item| {
            let text = &text[item.range.clone()];
            item.keep != Keep::Hidden && text.trim().len() == text.len()
        };
        self.items.iter().all(is_plain)
            && !inner.char_indices().any(is_odd_space)
            && can_write(inner)
    }
}

fn is_joiner(between: &str) -> bool {
    let is_sign = |c: char| !c.is_whitespace() && (!c.is_alphanumeric() || "xX".contains(c));
    between.len() <= MAX_JOINER_BYTES && between.chars().all(is_sign)
}

/// Returns a range with the quotes or brackets around it, if there are any.
fn with_quotes(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let before = text[..range.start].chars().next_back()?;
    let behind = text[range.end..].chars().next()?;
    let is_pair = |pair: &&&str| pair.chars().eq([before, behind]);
    AROUND.iter().find(is_pair)?;
    Some(range.start - before.len_utf8()..range.end + behind.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(text: &str) -> Vec<String> {
        let found = Copied::find(&Passage::plain(text), &Protection::placeholders());
        found
            .into_iter()
            .map(|it| text[it.range].to_owned())
            .collect()
    }

    #[test]
    fn what_touches_or_is_joined_by_a_sign_is_taken_out_together() {
        assert_eq!(copied("of %dx%d pixels"), ["%dx%d"]);
        assert_eq!(copied("Dogs {from}–{to} run"), ["{from}–{to}"]);
        assert_eq!(copied("{a} {b}, {c} and {d}"), ["{a}", "{b}", "{c}", "{d}"]);
    }

    #[test]
    fn a_number_with_a_mark_inside_is_left_to_the_model() {
        let passage = crate::tests::markup("in 1950<a>1</a>. See {x}<a>{y}</a>");
        let found = Copied::find(&passage, &Protection::placeholders()).into_iter();
        let found: Vec<&str> = found.map(|it| &passage.text[it.range]).collect();
        assert_eq!(found, ["{x}", "{y}"]);
    }

    #[test]
    fn quotes_and_brackets_around_it_are_taken_out_with_it() {
        assert_eq!(copied("Rename “%s” as (\"%s\")"), ["“%s”", "(\"%s\")"]);
        assert_eq!(copied("(see {a})"), ["{a}"]);
    }
}
