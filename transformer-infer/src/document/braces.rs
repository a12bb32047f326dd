//! [`closed_braces`]: from opening braces to the ones that close them.

use std::ops::Range;

/// Returns the ranges from the opening braces at `starts`, which are in order, to the ones that close them; of those that
/// are not closed, none. It reads the text once, whatever the number of braces.
pub(super) fn closed_braces(text: &str, starts: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut starts = starts.peekable();
    let mut closed = Vec::new();
    // Braces that are not closed yet, and whether they are at a start.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push((at, starts.next_if_eq(&at).is_some())),
            b'}' => closed.extend(open.pop().filter(|it| it.1).map(|(start, _)| start..at + 1)),
            _ => {}
        }
    }
    closed
}

/// Returns the length of what is in the braces that the text begins with, if they are closed.
pub(super) fn len_of_braces(text: &str) -> Option<usize> {
    let closed = closed_braces(text, std::iter::once(0)).pop()?;
    Some(closed.end)
}
