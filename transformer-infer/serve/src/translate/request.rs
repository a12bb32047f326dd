//! The options of a translation, and its result.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::config::Limits;
use crate::http::ApiError;
use crate::state::Share;
use transformer_core::text::Link;
use transformer_documents::{Doubtful, Faults, Split};
use transformer_search::Search;
use transformer_translate::Glossary;

/// The format of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = Format)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TextFormat {
    /// Plain text.
    #[default]
    Text,
    /// HTML, a page or a fragment.
    Html,
}

#[derive(Clone, Debug)]
pub(crate) struct TranslateOptions {
    /// The splitting of a text; a part that is too long for the model is split in any case.
    pub(crate) split: Split,
    /// Number of translations of each sentence, at least 1; for plain text only.
    pub(crate) n_best: usize,
    /// Number of hypotheses of beam search. Default: the model's, or `n_best` if that is larger.
    pub(crate) beam_size: Option<usize>,
    /// True if words are aligned; only for plain text.
    pub(crate) alignments: bool,
    /// The share of the budget for attention weights, if sentences have them; the work holds it too. Only for plain
    /// text without a pivot.
    pub(crate) attention: Option<Arc<Share>>,
    pub(crate) glossary: Option<Arc<Glossary>>,
    /// True if the translation of a sentence that is a term of the glossary is that of the term, as in DeepL's interface;
    /// only for documents, and for sentences without tags.
    pub(crate) has_terms_alone: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextTranslation {
    pub(crate) text: String,
    /// Its sentences, in order; empty for HTML.
    pub(crate) sentences: Vec<SentenceTranslation>,
    /// The text before the first sentence, between sentences, and after the last one.
    pub(super) gaps: Vec<String>,
    /// The sentences with doubtful translations; for HTML and XML, those of all texts are with the first text.
    pub(crate) doubtful: Doubtful,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SentenceTranslation {
    /// Bytes of the sentence in the source.
    pub(crate) source: Range<usize>,
    /// Bytes of the translation in the whole translation; empty until they are known.
    pub(crate) target: Range<usize>,
    pub(crate) text: String,
    /// Its score; `None` if nothing was translated.
    pub(crate) score: Option<f64>,
    pub(crate) alternatives: Vec<Alternative>,
    /// Aligned words, if requested: bytes of the whole source, and of `text`.
    pub(crate) alignment: Vec<Link>,
    /// The attention weights of all layers and heads, if requested: JSON.
    pub(crate) attention: Option<Arc<str>>,
    /// The terms that it must contain, if they were only looked up; see [`PlainTexts`](super::plain::PlainTexts).
    pub(super) terms: Vec<String>,
    pub(crate) faults: Faults,
    pub(crate) warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alternative {
    pub(crate) text: String,
    pub(crate) score: f64,
}

/// A translated sentence, sent while others are not ready.
#[derive(Clone, Debug)]
pub(crate) struct SentenceEvent {
    /// Index of the text, from 0.
    pub(crate) text: usize,
    /// Index of the sentence in its text, from 0.
    pub(crate) sentence: usize,
    /// The translation, with an unknown `target`.
    pub(crate) translation: SentenceTranslation,
}

impl Default for TranslateOptions {
    fn default() -> Self {
        Self {
            split: Split::Sentences,
            n_best: 1,
            beam_size: None,
            alignments: false,
            attention: None,
            glossary: None,
            has_terms_alone: false,
        }
    }
}

impl TranslateOptions {
    /// Returns the search for `n_best` translations, based on that of the model.
    pub(super) fn search(&self, of_model: &Search, n_best: usize) -> Result<Search, ApiError> {
        let most = Limits::MOST_HYPOTHESES;
        let beam_size = self.beam_size.unwrap_or(of_model.beam_size.max(n_best));
        for (field, value) in [("n_best", n_best), ("beam_size", beam_size)] {
            let is_given = self.beam_size.is_some() || n_best != 1;
            if is_given && !(1..=most).contains(&value) {
                return Err(ApiError::request(format!(
                    "`{field}` is {value}; choose 1 to {most}"
                )));
            }
        }
        let search = Search {
            beam_size,
            n_best,
            ..of_model.clone()
        };
        let checked = search.validate();
        checked.map_err(|error| ApiError::request(error.to_string()))?;
        Ok(search)
    }
}

impl TextTranslation {
    pub(super) fn whole(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Joins the sentences of a text; `gaps` are the texts around them.
    pub(super) fn join(mut sentences: Vec<SentenceTranslation>, gaps: Vec<String>) -> Self {
        let (mut text, mut doubtful) = (String::new(), Doubtful::default());
        for (number, sentence) in (1..).zip(&sentences) {
            doubtful.add(number, sentence.faults);
        }
        let mut gap = gaps.iter();
        for sentence in &mut sentences {
            text.push_str(gap.next().map_or("", String::as_str));
            let start = text.len();
            text.push_str(&sentence.text);
            sentence.target = start..text.len();
        }
        gap.for_each(|gap| text.push_str(gap));
        Self {
            text,
            sentences,
            gaps,
            doubtful,
        }
    }

    /// Returns the next best translations, without duplicates and without empty ones.
    pub(crate) fn alternatives(&self, most: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for alternative in (0..most).map_while(|n| self.alternative(n)) {
            let is_new = alternative != self.text && !found.contains(&alternative);
            if is_new && !alternative.trim().is_empty() {
                found.push(alternative);
            }
        }
        found
    }

    /// Returns the whole text with the n-th alternative of each sentence, counted from 0, or with its translation if it
    /// has fewer. `None` if no sentence has so many.
    fn alternative(&self, n: usize) -> Option<String> {
        let alternative = |sentence: &SentenceTranslation| {
            let found = sentence.alternatives.get(n);
            found.map(|it| it.text.clone())
        };
        self.sentences.iter().find_map(alternative)?;
        let sentences = self.sentences.iter().map(|sentence| SentenceTranslation {
            text: alternative(sentence).unwrap_or_else(|| sentence.text.clone()),
            ..SentenceTranslation::default()
        });
        Some(Self::join(sentences.collect(), self.gaps.clone()).text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_neither_empty_nor_repeated() {
        let alternative = |text: &str| Alternative {
            text: text.to_owned(),
            score: 0.0,
        };
        let sentence = SentenceTranslation {
            text: "A".to_owned(),
            alternatives: ["", "B", "A", " ", "B", "C"].map(alternative).into(),
            ..SentenceTranslation::default()
        };
        let text = TextTranslation::join(vec![sentence], Vec::new());
        assert_eq!(text.alternatives(6), ["B", "C"]);
    }
}
