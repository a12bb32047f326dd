//! [`DocumentRules`]: the sentences of a passage.

use std::ops::Range;

use super::copied::Copied;
use super::limits::LineLimits;
use super::passage::Passage;
use super::segments::{few_marks, joined};
use super::split::{end_of_part, trimmed};
use super::{Protection, Splitter};

/// The rules by which the sentences of documents are found.
#[derive(Debug)]
pub struct DocumentRules<'a, L> {
    /// The lines that the model can translate.
    pub limits: &'a L,
    /// Splits text into sentences.
    pub splitter: &'a Splitter,
    /// Finds the text to copy.
    pub protection: &'a Protection,
}

impl<L: LineLimits> DocumentRules<'_, L> {
    /// Returns the sentences of a passage that contain text to translate: each as one range, or as several if it is too
    /// long.
    pub(super) fn sentences(&self, passage: &Passage, copied: &[Copied]) -> Vec<Vec<Range<usize>>> {
        let text = &passage.text;
        let protected: Vec<Range<usize>> = copied.iter().map(|it| it.range.clone()).collect();
        let is_soft = passage.notation.has_soft_line_ends();
        let marks = passage.marks.iter().map(|mark| mark.range.start);
        let mut starts: Vec<usize> = marks.chain(protected.iter().map(|it| it.start)).collect();
        starts.sort_unstable();
        let sentences = joined(self.splitter.segments(text, is_soft), &protected).into_iter();
        // Without letters there is nothing to translate.
        sentences
            .filter(|sentence| text[sentence.clone()].contains(char::is_alphabetic))
            .map(|sentence| {
                let mut segments = Vec::new();
                for part in few_marks(text, &starts, sentence) {
                    self.split_long(text, part, &protected, &mut segments);
                }
                segments
            })
            .collect()
    }

    /// Adds a sentence, or its parts if it is too long for the model.
    fn split_long(
        &self,
        text: &str,
        sentence: Range<usize>,
        protected: &[Range<usize>],
        segments: &mut Vec<Range<usize>>,
    ) {
        let mut rest = sentence;
        while let Some(most) = self.limits.longest_start(&text[rest.clone()]) {
            let mut end = rest.start + end_of_part(&text[rest.clone()], most);
            // Protected text is not divided.
            let next = protected.partition_point(|range| range.end <= end);
            if let Some(range) = protected.get(next).filter(|range| range.start < end) {
                end = if range.start > rest.start {
                    range.start
                } else {
                    range.end
                };
            }
            segments.extend(trimmed(text, rest.start..end));
            rest = trimmed(text, end..rest.end).unwrap_or(rest.end..rest.end);
        }
        segments.extend(trimmed(text, rest));
    }
}
