//! [`CodePoints`]: ranges of bytes as ranges of code points.

use std::ops::Range;

/// The positions of the characters of a text.
#[derive(Clone, Debug)]
pub(super) struct CodePoints {
    /// The start of each character, in bytes.
    starts: Vec<usize>,
}

impl CodePoints {
    pub(super) fn of(text: &str) -> Self {
        Self {
            starts: text.char_indices().map(|(start, _)| start).collect(),
        }
    }

    /// Returns a range of bytes as `[start, end]` in code points.
    pub(super) fn range(&self, bytes: &Range<usize>) -> [usize; 2] {
        let index = |byte| self.starts.partition_point(|start| *start < byte);
        [index(bytes.start), index(bytes.end)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_several_bytes_count_as_one() {
        let points = CodePoints::of("aé🙂b");
        assert_eq!(points.range(&(0..1)), [0, 1]);
        assert_eq!(points.range(&(1..7)), [1, 3]);
        assert_eq!(points.range(&(7..8)), [3, 4]);
        assert_eq!(points.range(&(8..8)), [4, 4]);
    }
}
