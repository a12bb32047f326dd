//! [`DocumentRules`]: the sentences of a passage; and [`LineLimits`], the lines that a model can translate.

use std::ops::Range;

use transformer_text::{Tokenizer, UNK};

use super::copied::Copied;
use super::passage::Passage;
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
    /// Returns the sentences of a passage with text to translate: each as one range, or as several if it is too long.
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

/// The limits of a model's lines. [`TokenLimits`] are those of tokenizers; tests have others.
pub trait LineLimits {
    /// Returns the number of bytes at the start of a text that fit in one line, or `None` if the whole text fits.
    fn longest_start(&self, text: &str) -> Option<usize> {
        let _ = text;
        None
    }

    /// Returns whether the model can read a text and write it unchanged. Other text is taken out of lines.
    fn can_write(&self, text: &str) -> bool {
        let _ = text;
        true
    }
}

/// The limits of a model with tokenizers: a number of tokens, and the text that they can spell.
#[derive(Clone, Copy, Debug)]
pub struct TokenLimits<'a> {
    src: &'a Tokenizer,
    tgt: &'a Tokenizer,
    max_tokens: usize,
}

impl<'a> TokenLimits<'a> {
    /// Default maximum number of source tokens in a sentence. A longer sentence is translated in parts: models see few
    /// of them in training, and have not learned to translate them.
    pub const MAX_TOKENS: usize = 200;

    /// Limits lines to `max_tokens` source tokens, at least 1.
    pub fn new(src: &'a Tokenizer, tgt: &'a Tokenizer, max_tokens: usize) -> Self {
        let max_tokens = max_tokens.max(1);
        Self {
            src,
            tgt,
            max_tokens,
        }
    }
}

impl LineLimits for TokenLimits<'_> {
    fn longest_start(&self, text: &str) -> Option<usize> {
        // A token has at least one byte.
        if text.len() <= self.max_tokens {
            return None;
        }
        let start = self.src.start_of_line(text, self.max_tokens);
        let (_, spans) = self.src.encode_spans(start);
        let last = spans
            .get(self.max_tokens - 1)
            .filter(|_| spans.len() > self.max_tokens)?;
        Some(last.end.max(1))
    }

    fn can_write(&self, text: &str) -> bool {
        let (src, tgt) = (self.src.encode(text), self.tgt.encode(text));
        !src.contains(&UNK) && !tgt.contains(&UNK) && self.tgt.decode(&tgt) == text
    }
}

const MAX_MARKS: usize = 500;

/// Splits a sentence with very many marks at some of their `starts`, so that the time for each mark is bounded.
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
