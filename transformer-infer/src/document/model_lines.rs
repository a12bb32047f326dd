//! [`ModelLines`]: a model as the translator of a document's sentences.

use crate::search::Search;
use transformer_translate::{Glossary, Input, Translation, Translator, Warning};

use super::{DocumentError, DocumentLine, Protection, TokenLimits, TranslatedLine, Way};

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

#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The warning, if the output length limit affected the translation.
    pub(super) warning: Option<Warning>,
    /// Number of glossary terms that the translation must contain.
    pub(super) n_terms: usize,
    /// Those of the terms that the translation does not contain.
    pub(super) unmet_terms: Vec<String>,
}

impl<'a> ModelLines<'a> {
    /// Default maximum number of source tokens in a sentence; [`with_max_tokens`](Self::with_max_tokens) sets another.
    /// A longer sentence is translated in parts: models see few of them in training, and have not learned to translate
    /// them.
    pub const MAX_TOKENS: usize = TokenLimits::MAX_TOKENS;

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

    pub(super) fn limits(&self) -> TokenLimits<'a> {
        let tokenizers = self.translator.tokenizers();
        TokenLimits::new(tokenizers.src(), tokenizers.tgt(), self.max_tokens)
    }

    /// Translates lines. `on_progress` is called with the number of lines translated since the last call.
    pub(super) fn translate(
        &self,
        lines: &[DocumentLine<'_>],
        protection: &Protection,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<(TranslatedLine, Outcome)>, DocumentError> {
        let of_glossary: Vec<Vec<&str>> = lines.iter().map(|line| self.terms(line)).collect();
        let terms = |index: usize| &of_glossary[index][..];
        let means = (self.translator, &self.search, protection);
        let translated = translate_lines(means, lines, terms, on_progress)?;
        let outcome = |((translation, line), terms): ((Translation, _), &Vec<&str>)| {
            (line, Outcome::of(&translation, terms))
        };
        Ok(translated
            .into_iter()
            .zip(&of_glossary)
            .map(outcome)
            .collect())
    }

    /// Returns the terms of the glossary that the translation of a line must contain.
    fn terms(&self, line: &DocumentLine<'_>) -> Vec<&'a str> {
        let glossary = self.glossary.into_iter();
        let text = line.in_its_case();
        let terms = glossary.flat_map(|glossary| glossary.terms_outside(text, line.copied));
        terms.map(|term| term.target).collect()
    }
}

/// Translates lines of documents with the terms of a glossary for each, and links the words of those that need it. Each
/// line is translated in the way of its attempt.
#[doc(hidden)]
pub fn translate_lines<'a>(
    (translator, search, protection): (&Translator, &Search, &Protection),
    lines: &[DocumentLine<'a>],
    of_glossary: impl Fn(usize) -> &'a [&'a str],
    on_progress: &mut dyn FnMut(usize),
) -> Result<Vec<(Translation, TranslatedLine)>, DocumentError> {
    let is_sampled = search.sampling.is_some();
    let indexed = lines.iter().enumerate();
    let terms = indexed.map(|(index, line)| line.required(of_glossary(index), is_sampled));
    let terms: Vec<Vec<&str>> = terms.collect();
    let mut translations: Vec<(usize, Translation)> = Vec::with_capacity(lines.len());
    let ways = lines.iter().map(|line| line.attempt.way);
    for (search, own) in Way::groups(ways.zip(0..), search) {
        let inputs = own.iter().map(|&index| Input {
            text: lines[index].text,
            terms: &terms[index],
            index: lines[index].index,
            ..Input::default()
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        let translated = translator.translate_inputs(&inputs, &search, on_progress)?;
        translations.extend(own.into_iter().zip(translated));
    }
    translations.sort_by_key(|(index, _)| *index);
    let translations = translations.into_iter().map(|(index, mut translation)| {
        let candidates = translation.candidates.iter_mut();
        let best = lines[index].choose(candidates.map(|it| &mut it.text), protection);
        translation.prefer(best, search.n_best);
        translation
    });
    let translations: Vec<Translation> = translations.collect();
    let texts = lines
        .iter()
        .map(|line| line.needs_links.then_some(line.text));
    let links = translator.best_links(&texts.collect::<Vec<_>>(), &translations)?;
    let translated = translations
        .into_iter()
        .zip(links)
        .map(|(translation, links)| {
            let text = translation.text().to_owned();
            (translation, TranslatedLine { text, links })
        });
    Ok(translated.collect())
}

impl Outcome {
    /// `terms` are those of the glossary; the translation's first required terms.
    fn of(translation: &Translation, terms: &[&str]) -> Self {
        let unmet = translation.unmet_terms.iter();
        let unmet = unmet.filter_map(|index| terms.get(*index));
        Self {
            warning: translation.warning,
            n_terms: terms.len(),
            unmet_terms: unmet.map(|term| (*term).to_owned()).collect(),
        }
    }
}
