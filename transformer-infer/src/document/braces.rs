//! [`closed_braces`]: finds the closing braces.

use std::ops::Range;

/// Returns the ranges from the opening braces at `starts`, which are in order, to their closing braces. Braces that are
/// not closed have no range. Reads the text once, regardless of the number of braces.
pub(super) fn closed_braces(text: &str, starts: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut starts = starts.peekable();
    let mut closed = Vec::new();
    // Braces not closed yet, and whether each is in `starts`.
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

/// Returns the length of the text in the braces at the start of `text`, if they are closed.
pub(super) fn len_of_braces(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return (depth == 1).then_some(at + 1),
            b'}' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
