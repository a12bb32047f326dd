//! Tags of HTML inside Markdown: pairs where they are balanced, otherwise points.

use crate::format::items::{Item, ItemKind, NAMED};
use crate::format::value::tag;

/// Returns the kind of inline HTML: a start or end of a pair with the name of its element, or a point.
pub(super) fn html_kind(html: &str) -> ItemKind {
    match tag(html) {
        Some((kind, len)) if len == html.len() => kind,
        _ => ItemKind::Point,
    }
}

/// Turns tags into points unless they form a pair that is properly nested, both in other pairs and in emphasis or
/// links.
///
/// The pairs of Markdown itself have no name or are [`NAMED`], and are balanced.
pub(super) fn pair_html(items: &mut [Item]) {
    // The open starts, the outermost first.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..items.len() {
        match &items[index].kind {
            ItemKind::Open(_) => open.push(index),
            ItemKind::Close(name) => {
                let name = name.clone();
                // Open emphasis hides the tags before it.
                let is_own = |name: &str| name.is_empty() || name == NAMED;
                let own = |start: &usize| match &items[*start].kind {
                    ItemKind::Open(name) => is_own(name),
                    _ => false,
                };
                let first = match is_own(&name) {
                    true => 0,
                    false => open
                        .iter()
                        .rposition(own)
                        .map_or(0, |position| position + 1),
                };
                let start = ItemKind::Open(name);
                let starts = &open[first..];
                let found = starts.iter().rposition(|at| items[*at].kind == start);
                match found {
                    Some(position) => {
                        let unpaired = open.drain(first + position..).skip(1);
                        unpaired.for_each(|at| items[at].kind = ItemKind::Point);
                    }
                    None => items[index].kind = ItemKind::Point,
                }
            }
            ItemKind::Text(_) | ItemKind::Point | ItemKind::Break | ItemKind::Wall => {}
        }
    }
    for at in open {
        items[at].kind = ItemKind::Point;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs tags. `*` and `_` are the start and end of emphasis. Returns `<`, `>` or `.` for each.
    fn paired(tags: &[&str]) -> String {
        let kind = |text: &&str| match *text {
            "*" => ItemKind::Open(String::new()),
            "_" => ItemKind::Close(String::new()),
            html => html_kind(html),
        };
        let mut items: Vec<Item> = tags.iter().map(|it| Item::new(kind(it), *it)).collect();
        pair_html(&mut items);
        let sign = |item: &Item| match item.kind {
            ItemKind::Open(_) => '<',
            ItemKind::Close(_) => '>',
            _ => '.',
        };
        items.iter().map(sign).collect()
    }

    #[test]
    fn balanced_tags_are_pairs_and_others_are_points() {
        assert_eq!(paired(&["<b>", "<i class=\"x\">", "</I>", "</b>"]), "<<>>");
        assert_eq!(
            paired(&["<b>", "<br>", "<p>", "</b>", "</i>", "<u>"]),
            "<..>.."
        );
        assert_eq!(paired(&["<!-- <b> -->", "</b>"]), "..");
    }

    #[test]
    fn tags_across_the_edge_of_emphasis_are_points() {
        assert_eq!(paired(&["*", "<b>", "_", "</b>"]), "<.>.");
        assert_eq!(paired(&["<b>", "*", "</b>", "_"]), ".<.>");
        assert_eq!(paired(&["<b>", "*", "_", "</b>"]), "<<>>");
    }
}
