//! Plain text: sentence by sentence, each with its alternatives and alignments.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::document::{limits, splitter};
use super::finish::{Finisher, Line, Text};
use super::request::{SentenceEvent, SentenceTranslation, TextTranslation, TranslateOptions};
use super::round::{Round, choose, job_line};
use super::work::{of_scheduler, prepare};
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_documents::{Attempt, DocumentRules, DraftSentence, Trial};
use transformer_search::Search;
use transformer_translate::Translation;

/// Maximum number of source tokens of a reply with attention weights, which grow with the square of the length.
pub(crate) const MAX_ATTENTION_TOKENS: usize = 200;
/// Maximum number of sentences of such a reply; each translation may be longer than its source.
const MAX_ATTENTION_SENTENCES: usize = 16;

pub(super) struct PlainTexts {
    pub(super) texts: Vec<String>,
    /// The terms that the translation of each text must contain, besides those of the glossary; may be empty.
    pub(super) terms: Vec<Vec<String>>,
    /// True if the terms of the glossary are only found, for another model, and not required of this one.
    pub(super) only_finds_terms: bool,
}

/// Translates texts. Each finished sentence is also sent to `events`.
pub(super) async fn translate_plain(
    served: &Arc<Served>,
    texts: PlainTexts,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let n_bytes = texts.texts.iter().map(String::len).sum();
    let submit = {
        let (served, options, caller) = (served.clone(), options.clone(), caller.id);
        move || submit(&served, texts, &options, caller)
    };
    let (all, round) = prepare(served, caller.id, n_bytes, submit).await?;
    all.finish(round, events).await
}

/// Gives the sentences of texts to the scheduler. Also returns the first round of translation, with all lines.
fn submit(
    served: &Arc<Served>,
    texts: PlainTexts,
    options: &TranslateOptions,
    caller: u64,
) -> Result<(Lines, Round), ApiError> {
    let translator = served.translator();
    let search = options.search(translator.search(), options.n_best)?;
    let protection = served.protection();
    let rules = DocumentRules {
        limits: &limits(translator),
        splitter: &splitter(served, options),
        protection: &protection,
    };
    let drafts = texts.texts.into_iter().map(|text| Text {
        draft: rules.draft(&text),
        text,
    });
    let drafts: Vec<Text> = drafts.collect();
    let (lines, terms) = lines_of(&drafts, &texts.terms, options);
    let (terms, found_terms) = match texts.only_finds_terms {
        true => (vec![Vec::new(); lines.len()], terms),
        false => (terms, Vec::new()),
    };
    let finisher = Finisher {
        served: served.clone(),
        caller,
        protection,
        texts: Arc::new(drafts),
        terms: Arc::new(terms),
        alignments: options.alignments,
        found_terms: Arc::new(found_terms),
        attention: options.attention.clone(),
    };
    let indices = 0..lines.len();
    let all = Lines {
        finisher,
        search,
        lines,
    };
    if options.attention.is_some() {
        check_attention(served, indices.clone().map(|index| all.draft(index)))?;
    }
    let attempts = indices.map(|index| (index, Attempt::default()));
    let round = all.start(attempts, false)?;
    Ok((all, round))
}

/// Returns the text and the sentence of each line to translate, and its terms. The terms of a whole text are required
/// only if it is a single line; with several, it is unknown which should contain them.
fn lines_of(
    texts: &[Text],
    of_texts: &[Vec<String>],
    options: &TranslateOptions,
) -> (Vec<(usize, usize)>, Vec<Vec<String>>) {
    let (mut lines, mut all_terms) = (Vec::new(), Vec::new());
    for (index, text) in texts.iter().enumerate() {
        let of_text = of_texts.get(index).map_or(&[][..], Vec::as_slice);
        let of_text = match text.draft.sentences.len() {
            1 => of_text,
            _ => &[],
        };
        for (sentence, draft) in text.draft.sentences.iter().enumerate() {
            if draft.is_copied() {
                continue;
            }
            let (glossary, shown) = (options.glossary.iter(), Attempt::default());
            let (line, copied) = (draft.line(shown), draft.copied(shown));
            let terms = glossary.flat_map(|glossary| glossary.terms_outside(line, copied));
            let terms = terms.map(|term| term.target.to_owned());
            all_terms.push(terms.chain(of_text.iter().cloned()).collect());
            lines.push((index, sentence));
        }
    }
    (lines, all_terms)
}

fn check_attention<'a>(
    served: &Served,
    sentences: impl Iterator<Item = &'a DraftSentence>,
) -> Result<(), ApiError> {
    let tokenizer = served.translator().tokenizers().src();
    let (limit, mut n_tokens) = (MAX_ATTENTION_TOKENS, 0);
    for (index, sentence) in sentences.enumerate() {
        if index == MAX_ATTENTION_SENTENCES {
            return Err(ApiError::request(format!(
                "attention is for at most {MAX_ATTENTION_SENTENCES} sentences of a request; send fewer, or leave out \
                 `attention`"
            )));
        }
        n_tokens += tokenizer.encode(sentence.line(Attempt::default())).len();
        if n_tokens > limit {
            return Err(ApiError::TooManyTokens { n_tokens, limit });
        }
    }
    Ok(())
}

/// The sentences of texts that are translated, each as a line.
struct Lines {
    finisher: Finisher,
    search: Search,
    /// The text and the sentence of each line.
    lines: Vec<(usize, usize)>,
}

impl Lines {
    /// Waits for all lines, has those that lost copied text translated again, and joins the sentences of each text.
    async fn finish(
        self,
        mut round: Round,
        events: Option<&UnboundedSender<SentenceEvent>>,
    ) -> Result<Vec<TextTranslation>, ApiError> {
        let finisher = &self.finisher;
        let copied = |text: &Text| {
            let sentences = text.draft.sentences.iter();
            sentences.map(|draft| text.copied(draft)).collect()
        };
        let mut sentences: Vec<Vec<SentenceTranslation>> =
            finisher.texts.iter().map(copied).collect();
        let send = |text, sentence, translation: &SentenceTranslation| {
            if let Some(events) = events {
                let translation = translation.clone();
                let _ = events.send(SentenceEvent {
                    text,
                    sentence,
                    translation,
                });
            }
        };
        for (text, of_text) in finisher.texts.iter().enumerate() {
            for (sentence, draft) in of_text.draft.sentences.iter().enumerate() {
                if draft.is_copied() {
                    send(text, sentence, &sentences[text][sentence]);
                }
            }
        }
        let mut trials: Vec<Trial<Translation>> = vec![Trial::default(); self.lines.len()];
        let mut indices: Vec<usize> = (0..self.lines.len()).collect();
        while !indices.is_empty() {
            let on_finished = |text: usize, sentence: usize, translation| {
                send(text, sentence, &translation);
                sentences[text][sentence] = translation;
            };
            indices = (self.finish_round(&mut round, &indices, &mut trials, on_finished)).await?;
            let attempts = indices
                .iter()
                .map(|index| (*index, trials[*index].attempt()));
            round = self.start(attempts, true)?;
        }
        let texts = finisher.texts.iter().zip(sentences);
        let texts = texts.map(|(text, sentences)| TextTranslation::join(sentences, text.gaps()));
        Ok(texts.collect())
    }

    fn draft(&self, index: usize) -> &DraftSentence {
        let (text, sentence) = self.lines[index];
        &self.finisher.texts[text].draft.sentences[sentence]
    }

    /// Gives lines to the scheduler, each in its attempt.
    fn start(
        &self,
        attempts: impl Iterator<Item = (usize, Attempt)>,
        is_accepted: bool,
    ) -> Result<Round, ApiError> {
        let (served, caller) = (&self.finisher.served, self.finisher.caller);
        let lines = attempts.map(|(index, attempt)| {
            let line = self.draft(index).document_line(attempt, index as u64);
            let terms = self.finisher.terms[index].iter().map(String::as_str);
            let terms: Vec<&str> = terms.collect();
            job_line(&line, &terms, served, &self.search)
        });
        let round = Round::start(served, caller, &self.search, lines.collect(), is_accepted);
        round.map_err(|error| of_scheduler(error, served, caller))
    }

    /// Waits for the lines of a round, which have these indices, and returns those to translate again.
    async fn finish_round(
        &self,
        round: &mut Round,
        indices: &[usize],
        trials: &mut [Trial<Translation>],
        mut on_finished: impl FnMut(usize, usize, SentenceTranslation),
    ) -> Result<Vec<usize>, ApiError> {
        let protection = &self.finisher.protection;
        let mut again = Vec::new();
        while let Some(done) = round.next().await? {
            let mut kept = Vec::with_capacity(done.len());
            for (position, mut translation) in done {
                let index = indices[position];
                let (trial, draft) = (&mut trials[index], self.draft(index));
                let line = draft.document_line(trial.attempt(), index as u64);
                choose(&mut translation, &line, protection, self.search.n_best);
                let best = translation.text().to_owned();
                if draft.take(trial, &best, translation, protection) {
                    again.push(index);
                } else if let Some(best) = trial.take_best() {
                    let (text, sentence) = self.lines[index];
                    kept.push(Line {
                        index,
                        text,
                        sentence,
                        attempt: best.attempt,
                        faults: best.faults,
                        translation: best.translation,
                    });
                }
            }
            for (text, sentence, translation) in self.finisher.finish(kept).await? {
                on_finished(text, sentence, translation);
            }
        }
        Ok(again)
    }
}

impl PlainTexts {
    pub(super) fn of(texts: Vec<String>) -> Self {
        Self {
            texts,
            terms: Vec::new(),
            only_finds_terms: false,
        }
    }
}

impl Text {
    fn gaps(&self) -> Vec<String> {
        let ranges = || self.draft.sentences.iter().map(|it| it.range.clone());
        let starts = [0].into_iter().chain(ranges().map(|it| it.end));
        let ends = ranges().map(|it| it.start).chain([self.text.len()]);
        let gaps = starts.zip(ends);
        gaps.map(|(start, end)| self.text[start..end].to_owned())
            .collect()
    }

    fn copied(&self, draft: &DraftSentence) -> SentenceTranslation {
        SentenceTranslation {
            source: draft.range.clone(),
            text: self.text[draft.range.clone()].to_owned(),
            ..SentenceTranslation::default()
        }
    }
}
