//! [`Finisher`]: turns translated lines into sentences.

use std::sync::Arc;

use super::request::{Alternative, SentenceTranslation};
use super::work::compute;
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Share;
use transformer_documents::{Attempt, DraftSentence, Faults, Protection, TextDraft};
use transformer_translate::attention::{LayerHead, Link, Selection, page_data};
use transformer_translate::{Candidate, Translation, Warning};

pub(super) struct Text {
    pub(super) text: String,
    pub(super) draft: TextDraft,
}

#[derive(Clone)]
pub(super) struct Finisher {
    pub(super) served: Arc<Served>,
    /// The caller, which waits for its turn to compute.
    pub(super) caller: u64,
    pub(super) protection: Protection,
    pub(super) texts: Arc<Vec<Text>>,
    pub(super) terms: Arc<Vec<Vec<String>>>,
    pub(super) alignments: bool,
    /// The terms that another model's translation of each line must contain, if they were looked up.
    pub(super) found_terms: Arc<Vec<Vec<String>>>,
    /// Held while weights are computed, even if the client no longer waits for them.
    pub(super) attention: Option<Arc<Share>>,
}

/// A translated line, with the index of its text and its sentence.
pub(super) struct Line {
    pub(super) index: usize,
    pub(super) text: usize,
    pub(super) sentence: usize,
    pub(super) attempt: Attempt,
    pub(super) faults: Faults,
    pub(super) translation: Translation,
}

impl Finisher {
    /// Puts the removed text back into translations, and aligns their words.
    pub(super) async fn finish(
        &self,
        lines: Vec<Line>,
    ) -> Result<Vec<(usize, usize, SentenceTranslation)>, ApiError> {
        if self.attention.is_none() && !lines.iter().any(|line| self.needs_links(line)) {
            let sentences = lines.iter().map(|line| self.sentence(line, &[], None));
            return Ok(sentences.collect());
        }
        // The model reads the translations once more.
        let finisher = self.clone();
        compute(self.caller, move || finisher.read_again(&lines)).await
    }

    fn read_again(
        &self,
        lines: &[Line],
    ) -> Result<Vec<(usize, usize, SentenceTranslation)>, ApiError> {
        let (needing, others): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| self.needs_links(line));
        let texts = needing
            .iter()
            .map(|line| self.draft(line).line(line.attempt));
        let texts: Vec<&str> = texts.collect();
        let translations = needing.iter().map(|line| line.translation.clone());
        let translations: Vec<Translation> = translations.collect();
        let translator = self.served.translator();
        let links = translator.links(&texts, &translations, LayerHead::default());
        let links = links.map_err(|error| ApiError::internal(&error, "an alignment failed"))?;
        let needing = needing.into_iter().zip(links);
        let others = others.into_iter().map(|line| (line, Vec::new()));
        let sentences = needing.chain(others).map(|(line, links)| {
            let attention = match self.attention {
                Some(_) => self.weights(line)?,
                None => None,
            };
            Ok(self.sentence(line, &links, attention))
        });
        sentences.collect()
    }

    fn weights(&self, line: &Line) -> Result<Option<Arc<str>>, ApiError> {
        let Some(best) = line.translation.candidates.first() else {
            return Ok(None);
        };
        let (translator, text) = (
            self.served.translator(),
            self.draft(line).line(line.attempt),
        );
        let weights = translator.attention_in(line.translation.direction, text, &best.hypothesis);
        let weights = weights.and_then(|weights| page_data(&weights, Selection::default()));
        let weights = weights.map_err(|error| ApiError::internal(&error, "attention failed"))?;
        Ok(Some(weights.into()))
    }

    fn needs_links(&self, line: &Line) -> bool {
        self.alignments || self.draft(line).needs_links(line.attempt)
    }

    fn draft(&self, line: &Line) -> &DraftSentence {
        &self.texts[line.text].draft.sentences[line.sentence]
    }

    /// Makes the sentence of a line; `links` are those of each candidate.
    fn sentence(
        &self,
        line: &Line,
        links: &[Vec<Link>],
        attention: Option<Arc<str>>,
    ) -> (usize, usize, SentenceTranslation) {
        let draft = self.draft(line);
        let links = |index: usize| links.get(index).map_or(&[][..], Vec::as_slice);
        let candidates = line.translation.candidates.iter().enumerate();
        // Alternatives must keep copied text, too.
        let is_kept = |text: &str| draft.keeps(line.attempt, text, &self.protection);
        let is_real = |(index, it): &(usize, &Candidate)| {
            *index == 0 || it.hypothesis.score.is_finite() && is_kept(&it.text)
        };
        let mut candidates = candidates.filter(is_real).map(|(index, candidate)| {
            let translation = draft.translation(
                line.attempt,
                &candidate.text,
                links(index),
                &self.protection,
            );
            (translation, candidate.hypothesis.score)
        });
        let (best, score) = candidates.next().unwrap_or_default();
        let alternatives = candidates.map(|(translation, score)| Alternative {
            text: translation.text,
            score,
        });
        let source = &self.texts[line.text].text;
        let alignment = match self.alignments {
            true => draft.words(line.attempt, source, &best, links(0)),
            false => Vec::new(),
        };
        let sentence = SentenceTranslation {
            source: draft.range.clone(),
            target: 0..0,
            score: score.is_finite().then_some(score),
            alternatives: alternatives.collect(),
            alignment,
            attention,
            terms: self
                .found_terms
                .get(line.index)
                .cloned()
                .unwrap_or_default(),
            faults: line.faults,
            warning: self.warning(line, draft.n_parts),
            text: best.text,
        };
        (line.text, line.sentence, sentence)
    }

    fn warning(&self, line: &Line, n_parts: usize) -> Option<String> {
        let mut warnings = Vec::new();
        if n_parts > 1 {
            warnings.push(format!(
                "the sentence is too long and was translated in {n_parts} parts"
            ));
        }
        match line.translation.warning {
            None => {}
            Some(Warning::Cut { n_kept }) => warnings.push(format!(
                "the sentence has more than {n_kept} tokens; the rest was not translated"
            )),
            Some(Warning::ManyTerms {
                n_terms,
                n_required,
            }) => warnings.push(format!(
                "only the first {n_required} of the {n_terms} terms of the sentence were required"
            )),
            Some(_) => warnings
                .push("the length limits allow no translation of the required length".into()),
        }
        let unmet = line.translation.unmet_terms.iter();
        // Copied text was required after the terms, and is present.
        let unmet = unmet.filter_map(|index| self.terms[line.index].get(*index));
        warnings.extend(unmet.map(|term| lacks_term(term)));
        if !line.faults.is_empty() {
            warnings.push(format!("the translation is doubtful: {}", line.faults));
        }
        (!warnings.is_empty()).then(|| warnings.join("; "))
    }
}

pub(super) fn lacks_term(term: &str) -> String {
    format!("the translation lacks the term `{term}`")
}
