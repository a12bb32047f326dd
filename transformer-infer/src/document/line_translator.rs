//! [`LineTranslator`]: a translator of the sentences of a document.

use std::ops::Range;

use super::DocumentError;
use super::marks::units;
use transformer_core::text::Link;
use transformer_translate::{Glossary, Term, Warning};

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
}

/// The translation of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedLine {
    /// The translated text.
    pub text: String,
    /// The links between parts of the line and parts of its translation, if requested, in the order of the translation.
    pub links: Vec<Link>,
    /// The warning, if the output length limit affected the translation.
    pub warning: Option<Warning>,
    /// Number of glossary terms that the translation must contain.
    pub n_terms: usize,
    /// Those of the terms that the translation does not contain.
    pub unmet_terms: Vec<String>,
}

/// Returns the glossary terms in a text, except those inside copied text.
pub(super) fn terms_outside<'g>(
    glossary: &'g Glossary,
    text: &str,
    copied: &[Range<usize>],
) -> Vec<Term<'g>> {
    let terms = glossary.terms_in(text).into_iter();
    let meets =
        |term: &Term<'_>, it: &Range<usize>| it.start < term.range.end && term.range.start < it.end;
    terms
        .filter(|term| !copied.iter().any(|it| meets(term, it)))
        .collect()
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
            ..Self::default()
        }
    }
}

/// A translator of lines of text. [`ModelLines`](super::ModelLines) is one with a [`Translator`](crate::Translator);
/// tests have ones with known output.
pub trait LineTranslator {
    /// Translates lines, and returns one translation for each, in the same order.
    ///
    /// `on_progress` is called with the number of lines that have been translated since the last call.
    ///
    /// # Errors
    ///
    /// Returns a [`DocumentError`] if the model cannot translate.
    fn translate_lines(
        &self,
        lines: &[DocumentLine<'_>],
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<TranslatedLine>, DocumentError>;

    /// Returns the number of bytes at the start of a text that fit in one line, or `None` if the whole text fits.
    fn longest_start(&self, text: &str) -> Option<usize>;

    /// Returns whether the translator can read a text and write it unchanged. Other text is taken out of lines.
    fn can_write(&self, text: &str) -> bool {
        let _ = text;
        true
    }
}
