//! [`DocumentLine`] and [`TranslatedLine`]: a sentence of a document and its translation.

use std::mem;
use std::ops::Range;

use super::marks::{Sentence, units};
use super::{Attempt, Protection};
use transformer_text::Link;

/// A line to translate: a sentence, or a part of a sentence that is too long.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLine<'a> {
    /// The text.
    pub text: &'a str,
    /// True if [`TranslatedLine::links`] are needed.
    pub needs_links: bool,
    /// Number of the line in the document, from 0; random samples depend on it.
    pub index: u64,
    /// The bytes of the text that are copied; they contain no glossary terms.
    pub copied: &'a [Range<usize>],
    /// Texts that the translation must contain, in addition to glossary terms, if the search can require them.
    pub terms: &'a [String],
    /// The attempt at a translation; its way is the search to use.
    pub attempt: Attempt,
    pub(super) sentence: &'a Sentence,
}

impl<'a> DocumentLine<'a> {
    /// Returns the text in the case of the document, in which the terms of a glossary are found; its bytes are in the same
    /// places as those of `text`.
    pub fn in_its_case(&self) -> &'a str {
        &self.sentence.in_form(self.attempt.form).text
    }

    /// Returns the texts that a search must require: the terms of a glossary, then those of the line. Samples cannot be
    /// required to contain the latter; they are checked like other translations.
    pub fn required(&self, of_glossary: &[&'a str], is_sampled: bool) -> Vec<&'a str> {
        let of_line = self.terms.iter().filter(|_| !is_sampled);
        let of_glossary = of_glossary.iter().copied();
        of_glossary.chain(of_line.map(String::as_str)).collect()
    }

    /// Writes candidates for the translation as the source is written, and returns the index of the first of those with
    /// the fewest faults.
    pub fn choose<'t>(
        &self,
        candidates: impl ExactSizeIterator<Item = &'t mut String>,
        protection: &Protection,
    ) -> usize {
        let has_several = candidates.len() > 1;
        let weights = candidates.map(|text| {
            let own = mem::take(text);
            *text = self.sentence.written(self.attempt, own, protection);
            let faults = || self.sentence.faults(self.attempt, text, protection);
            has_several.then(|| faults().weight())
        });
        let best = weights.enumerate().min_by_key(|(_, weight)| *weight);
        best.map_or(0, |(index, _)| index)
    }
}

/// The translation of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedLine {
    /// The translated text.
    pub text: String,
    /// The links between parts of the line and parts of its translation, if requested, in the order of the translation.
    pub links: Vec<Link>,
}

impl TranslatedLine {
    /// Returns the line itself as its translation.
    pub fn copy_of(line: &str) -> Self {
        let links = units(line, &[]).into_iter().map(|unit| Link {
            src: unit.range.clone(),
            tgt: unit.range,
        });
        Self {
            text: line.to_owned(),
            links: links.collect(),
        }
    }
}
