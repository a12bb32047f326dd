//! [`ModelLines`]: a model as the translator of a document's sentences.

use transformer_core::text::UNK;

use super::DocumentError;
use super::line_translator::{DocumentLine, LineTranslator, TranslatedLine, terms_outside};
use crate::attention::LayerHead;
use crate::search::Search;
use transformer_translate::{Glossary, Input, Translation, Translator};

/// A translator of the sentences of documents by a model.
///
/// Each sentence gets the translation that [`Translator::translate`] returns for it as a line. For sentences with
/// markup inside, attention shows which words correspond.
#[derive(Debug)]
pub struct ModelLines<'a> {
    translator: &'a Translator,
    search: Search,
    max_tokens: usize,
    glossary: Option<&'a Glossary>,
}

impl<'a> ModelLines<'a> {
    /// Default maximum number of source tokens in a sentence; [`with_max_tokens`](Self::with_max_tokens) sets another.
    /// A longer sentence is translated in parts: models see few of them in training, and have not learned to translate
    /// them.
    pub const MAX_TOKENS: usize = 200;

    /// Translates with a search. Each sentence gets one translation, whatever the search's `n_best`.
    pub fn new(translator: &'a Translator, search: &Search) -> Self {
        let search = Search {
            n_best: 1,
            ..search.clone()
        };
        Self {
            translator,
            search,
            max_tokens: 0,
            glossary: None,
        }
        .with_max_tokens(Self::MAX_TOKENS)
    }

    /// Sets the maximum number of source tokens in a sentence; a longer one is translated in parts. Values are limited
    /// to at least 1 and at most the translator's own maximum.
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: usize) -> Self {
        let max_tokens = max_tokens.clamp(1, self.translator.limits().max_src_len.max(1));
        Self { max_tokens, ..self }
    }

    /// Requires the translations of a glossary for its terms.
    #[must_use]
    pub fn with_glossary(self, glossary: &'a Glossary) -> Self {
        Self {
            glossary: Some(glossary),
            ..self
        }
    }

    /// Adds the links of the lines that need them.
    fn add_links(
        &self,
        lines: &[DocumentLine<'_>],
        translations: Vec<Translation>,
        translated: &mut [TranslatedLine],
    ) -> Result<(), DocumentError> {
        let needing = lines.iter().zip(translations).enumerate();
        let needing = needing.filter(|(_, (line, _))| line.needs_links);
        let (indices, pairs): (Vec<usize>, Vec<_>) = needing.unzip();
        let (lines, translations): (Vec<&DocumentLine<'_>>, Vec<Translation>) =
            pairs.into_iter().unzip();
        if lines.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
        let links = self
            .translator
            .links(&texts, &translations, LayerHead::default())?;
        for (index, links) in indices.into_iter().zip(links) {
            translated[index].links = links.into_iter().next().unwrap_or_default();
        }
        Ok(())
    }

    /// Returns the terms that the translation of each line must contain: first those of the glossary, then those of the
    /// line.
    pub(crate) fn terms<'l>(&self, lines: &[DocumentLine<'l>]) -> Vec<Vec<&'l str>>
    where
        'a: 'l,
    {
        let terms = lines.iter().map(|line| {
            let glossary = self.glossary.into_iter();
            let of_glossary =
                glossary.flat_map(|glossary| terms_outside(glossary, line.text, line.copied));
            // Sampling supports no required terms.
            let of_line = line.terms.iter().filter(|_| self.search.sampling.is_none());
            let of_glossary = of_glossary.map(|term| term.target);
            of_glossary.chain(of_line.map(String::as_str)).collect()
        });
        terms.collect()
    }

    /// Adds the information that a document needs to translations.
    pub(crate) fn translated(
        &self,
        lines: &[DocumentLine<'_>],
        terms: &[Vec<&str>],
        translations: Vec<Translation>,
    ) -> Result<Vec<TranslatedLine>, DocumentError> {
        let line =
            |((line, translation), terms): ((&DocumentLine<'_>, &Translation), &Vec<&str>)| {
                let of_glossary = &terms[..terms.len().saturating_sub(line.terms.len())];
                let unmet = translation.unmet_terms.iter();
                let unmet = unmet.filter_map(|index| of_glossary.get(*index));
                TranslatedLine {
                    text: translation.text().to_owned(),
                    links: Vec::new(),
                    warning: translation.warning,
                    n_terms: of_glossary.len(),
                    unmet_terms: unmet.map(|term| (*term).to_owned()).collect(),
                }
            };
        let pairs = lines.iter().zip(&translations).zip(terms);
        let mut translated: Vec<TranslatedLine> = pairs.map(line).collect();
        self.add_links(lines, translations, &mut translated)?;
        Ok(translated)
    }
}

impl LineTranslator for ModelLines<'_> {
    fn translate_lines(
        &self,
        lines: &[DocumentLine<'_>],
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<TranslatedLine>, DocumentError> {
        let terms = self.terms(lines);
        let inputs = lines.iter().zip(&terms).map(|(line, terms)| Input {
            text: line.text,
            terms,
            index: line.index,
            ..Input::default()
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        let translations = self
            .translator
            .translate_inputs(&inputs, &self.search, on_progress)?;
        self.translated(lines, &terms, translations)
    }

    fn longest_start(&self, text: &str) -> Option<usize> {
        // A token has at least one byte.
        if text.len() <= self.max_tokens {
            return None;
        }
        let tokenizer = self.translator.tokenizers().src();
        let start = tokenizer.start_of_line(text, self.max_tokens);
        let (_, spans) = tokenizer.encode_spans(start);
        let last = spans
            .get(self.max_tokens - 1)
            .filter(|_| spans.len() > self.max_tokens)?;
        Some(last.end.max(1))
    }
    fn can_write(&self, text: &str) -> bool {
        let tokenizers = self.translator.tokenizers();
        let (src, tgt) = (tokenizers.src().encode(text), tokenizers.tgt().encode(text));
        !src.contains(&UNK) && !tgt.contains(&UNK) && tokenizers.tgt().decode(&tgt) == text
    }
}
