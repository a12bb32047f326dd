//! Segments of passages: adjusts the sentences that a splitter finds.

use std::ops::Range;

use super::split::trimmed;

/// Maximum number of marks in a text that is translated as one sentence.
const MAX_MARKS: usize = 500;

/// Splits a sentence with very many marks, so that the time for each mark is bounded. `starts` are the positions of
/// marks and protected text, in order.
pub(super) fn few_marks(text: &str, starts: &[usize], sentence: Range<usize>) -> Vec<Range<usize>> {
    let first = starts.partition_point(|start| *start <= sentence.start);
    let last = starts.partition_point(|start| *start < sentence.end);
    let inside = &starts[first..last.max(first)];
    let cuts = inside.chunks(MAX_MARKS).skip(1).map(|chunk| chunk[0]);
    let mut parts = Vec::new();
    let mut start = sentence.start;
    for end in cuts.chain([sentence.end]) {
        parts.extend(trimmed(text, start..end));
        start = end;
    }
    parts
}

/// Joins sentences with a boundary inside protected text, and moves their starts to the start of protected text.
pub(super) fn joined(
    sentences: Vec<Range<usize>>,
    protected: &[Range<usize>],
) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let next = protected.partition_point(|range| range.end <= sentence.start);
        let around = protected.get(next);
        let start = around.map_or(sentence.start, |it| it.start.min(sentence.start));
        match joined.last_mut() {
            Some(last) if last.end > start => last.end = sentence.end,
            _ => joined.push(start..sentence.end),
        }
    }
    joined
}
