//! [`LineTranslator`]: what translates the sentences of a document.

use std::ops::Range;

use super::DocumentError;
use super::marks::units;
use transformer_core::text::Link;
use transformer_translate::{Glossary, Term, Warning};

/// A line to translate: a sentence, or a part of one that is too long.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLine<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether [`TranslatedLine::links`] are needed.
    pub needs_links: bool,
    /// Number of the line in the document, from 0; samples depend on it.
    pub index: u64,
    /// The bytes of the text that are copied: no term of a glossary is there.
    pub copied: &'a [Range<usize>],
    /// What the translation must contain, besides the terms of a glossary, if the search can require it.
    pub terms: &'a [String],
}

/// The translation of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedLine {
    /// The translated text.
    pub text: String,
    /// Which parts of it translate which parts of the line, if they were asked for, in the order of the translation.
    pub links: Vec<Link>,
    /// Set if the limits of the output length decided about it.
    pub warning: Option<Warning>,
    /// Number of terms of a glossary that it must contain.
    pub n_terms: usize,
    /// Those of them that it does not contain.
    pub unmet_terms: Vec<String>,
}

/// Returns the terms of a glossary in a text, but those inside of what is copied.
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
    /// Returns a translation that is the line itself.
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

/// Translates lines of text. [`Translator`](crate::Translator) does by [`ModelLines`](super::ModelLines); tests have
/// translators whose output is known.
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

    /// Returns the number of bytes at the start of a text that are one line at most, or `None` if the whole text is.
    fn longest_start(&self, text: &str) -> Option<usize>;

    /// Returns whether the translator can read a text, and write it as it is. What it cannot is taken out of lines.
    fn can_write(&self, text: &str) -> bool {
        let _ = text;
        true
    }
}
