//! [`closed_braces`]: finds the closing braces.

use std::ops::Range;

/// Returns the ranges from the opening braces at `starts`, which are in order, to their closing braces, in the order of
/// the latter. Braces that are not closed have no range. Reads the text once, regardless of the number of braces, and no
/// further than the last range that is taken.
pub fn closed_braces(
    text: &str,
    starts: impl Iterator<Item = usize>,
) -> impl Iterator<Item = Range<usize>> {
    let mut starts = starts.peekable();
    // Braces not closed yet, and whether each is in `starts`.
    let mut open: Vec<(usize, bool)> = Vec::new();
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'{' => open.push((at, starts.next_if_eq(&at).is_some())),
            b'}' => return open.pop().filter(|it| it.1).map(|(start, _)| start..at + 1),
            _ => {}
        }
        None
    })
}

/// Returns the length of the text in the braces at the start of `text`, if they are closed.
pub fn len_of_braces(text: &str) -> Option<usize> {
    let mut closed = closed_braces(text, std::iter::once(0));
    closed.next().map(|braces| braces.end)
}
