//! Plain text: sentence by sentence, each with its alternatives and alignments.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::document::{limits, splitter};
use super::failure::{of_scheduler, of_translator};
use super::finish::{Finisher, Line, Text};
use super::request::{SentenceEvent, SentenceTranslation, TextTranslation, TranslateOptions};
use super::round::{Round, choose, job_line};
use super::work::prepare;
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_documents::{Attempt, DocumentRules, DraftSentence, Trial};
use transformer_search::Search;
use transformer_translate::{Translation, TranslatorError};

/// Maximum number of sentences that are finished together.
const MAX_AT_ONCE: usize = 64;

/// Maximum number of source tokens of a reply with attention weights, which grow with the square of the length.
pub(crate) const MAX_ATTENTION_TOKENS: usize = 200;
/// Maximum number of sentences of such a reply; each translation may be longer than its source.
const MAX_ATTENTION_SENTENCES: usize = 16;

/// Texts to translate.
pub(super) struct PlainTexts {
    pub(super) texts: Vec<String>,
    /// The terms that the translation of each text must contain, besides those of the glossary; empty if there are
    /// none.
    pub(super) terms: Vec<Vec<String>>,
    /// True if the terms of the glossary are only found, for another model, and not required of this one.
    pub(super) only_finds_terms: bool,
}

/// Texts with their sentences; the scheduler has those to translate.
struct Submitted {
    texts: Arc<Vec<Text>>,
    /// The text and the sentence of each line.
    lines: Vec<(usize, usize)>,
    /// The terms that each line must contain.
    terms: Arc<Vec<Vec<String>>>,
    /// The terms that another model's translation of each line must contain.
    found_terms: Arc<Vec<Vec<String>>>,
    search: Search,
    /// The first round of translation, with all lines.
    round: Round,
}

/// The data for the lines of a round.
struct JobLines<'a> {
    served: &'a Served,
    search: &'a Search,
    drafts: &'a [&'a DraftSentence],
    terms: &'a [Vec<String>],
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
    let submitted = prepare(served, caller.id, n_bytes, submit).await?;
    let finisher = Finisher {
        served: served.clone(),
        caller: caller.id,
        protection: served.protection(),
        texts: submitted.texts.clone(),
        terms: submitted.terms.clone(),
        alignments: options.alignments,
        found_terms: submitted.found_terms.clone(),
        attention: options.attention.clone(),
    };
    let sentences = finish_all(submitted, &finisher, caller.id, events).await?;
    let texts = finisher.texts.iter().zip(sentences);
    Ok(texts
        .map(|(text, sentences)| TextTranslation::join(sentences, text.gaps()))
        .collect())
}

/// Finds the sentences, and gives them to the scheduler.
fn submit(
    served: &Arc<Served>,
    texts: PlainTexts,
    options: &TranslateOptions,
    caller: u64,
) -> Result<Submitted, ApiError> {
    let translator = served.translator();
    let search = options.search(translator.search(), options.n_best)?;
    let rules = DocumentRules {
        limits: &limits(translator),
        splitter: &splitter(served, options),
        protection: &served.protection(),
    };
    let PlainTexts {
        texts,
        terms: of_texts,
        only_finds_terms,
    } = texts;
    let texts: Vec<Text> = texts
        .into_iter()
        .map(|text| Text {
            draft: rules.draft(&text),
            text,
        })
        .collect();
    let (lines, terms) = lines_of(&texts, &of_texts, options);
    let drafts = drafts_of(&texts, &lines);
    let (terms, found_terms) = match only_finds_terms {
        true => (vec![Vec::new(); lines.len()], terms),
        false => (terms, Vec::new()),
    };
    if options.attention.is_some() {
        check_attention(served, drafts.iter().copied())?;
    }
    let attempts = (0..lines.len()).map(|index| (index, Attempt::default()));
    let job_lines = JobLines {
        served,
        search: &search,
        drafts: &drafts,
        terms: &terms,
    };
    let round = job_lines.start(caller, attempts, false);
    let round = round.map_err(|error| of_scheduler(error, served, caller))?;
    Ok(Submitted {
        lines,
        terms: Arc::new(terms),
        found_terms: Arc::new(found_terms),
        search,
        round,
        texts: Arc::new(texts),
    })
}

impl JobLines<'_> {
    /// Gives lines to the scheduler, each in its attempt.
    fn start(
        &self,
        caller: u64,
        attempts: impl Iterator<Item = (usize, Attempt)>,
        is_accepted: bool,
    ) -> Result<Round, TranslatorError> {
        let lines = attempts.map(|(index, attempt)| {
            let line = self.drafts[index].document_line(attempt, index as u64);
            let terms: Vec<&str> = self.terms[index].iter().map(String::as_str).collect();
            job_line(&line, &terms, self.served, self.search)
        });
        let lines = lines.collect();
        Round::start(self.served, caller, self.search, lines, is_accepted)
    }
}

/// Returns the sentence of each line.
fn drafts_of<'a>(texts: &'a [Text], lines: &[(usize, usize)]) -> Vec<&'a DraftSentence> {
    let lines = lines.iter();
    let drafts = lines.map(|&(text, sentence)| &texts[text].draft.sentences[sentence]);
    drafts.collect()
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

/// Checks that the attention weights of sentences are not too large.
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

/// Waits for all lines, has those that lost copied text translated again, and returns the sentences of each text.
async fn finish_all(
    submitted: Submitted,
    finisher: &Finisher,
    caller: u64,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<Vec<SentenceTranslation>>, ApiError> {
    let copied = |text: &Text| {
        let sentences = text.draft.sentences.iter();
        sentences.map(|draft| text.copied(draft)).collect()
    };
    let mut sentences: Vec<Vec<SentenceTranslation>> = submitted.texts.iter().map(copied).collect();
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
    for (text, of_text) in submitted.texts.iter().enumerate() {
        for (sentence, draft) in of_text.draft.sentences.iter().enumerate() {
            if draft.is_copied() {
                send(text, sentence, &sentences[text][sentence]);
            }
        }
    }
    let Submitted {
        lines,
        search,
        mut round,
        ..
    } = submitted;
    let drafts = drafts_of(&finisher.texts, &lines);
    let job_lines = JobLines {
        served: &finisher.served,
        search: &search,
        drafts: &drafts,
        terms: &finisher.terms,
    };
    let mut trials: Vec<Trial<Translation>> = vec![Trial::default(); lines.len()];
    let mut indices: Vec<usize> = (0..lines.len()).collect();
    while !indices.is_empty() {
        let on_finished = |text: usize, sentence: usize, translation| {
            send(text, sentence, &translation);
            sentences[text][sentence] = translation;
        };
        let lines = RoundLines {
            lines: &lines,
            indices: &indices,
            drafts: &drafts,
            n_best: search.n_best,
        };
        indices = finish_round(&mut round, &lines, &mut trials, finisher, on_finished).await?;
        let attempts = indices
            .iter()
            .map(|index| (*index, trials[*index].attempt()));
        round = job_lines
            .start(caller, attempts, true)
            .map_err(|error| of_scheduler(error, &finisher.served, caller))?;
    }
    Ok(sentences)
}

/// The lines of a round.
struct RoundLines<'a> {
    /// The text and the sentence of each line of the request.
    lines: &'a [(usize, usize)],
    /// The indices of the lines of the round.
    indices: &'a [usize],
    drafts: &'a [&'a DraftSentence],
    n_best: usize,
}

/// Waits for the lines of a round, and returns those to translate again.
async fn finish_round(
    round: &mut Round,
    lines: &RoundLines<'_>,
    trials: &mut [Trial<Translation>],
    finisher: &Finisher,
    mut on_finished: impl FnMut(usize, usize, SentenceTranslation),
) -> Result<Vec<usize>, ApiError> {
    let mut again = Vec::new();
    let mut n_left = round.n_lines;
    let mut done = Vec::new();
    while n_left > 0 {
        let n = round.results.recv_many(&mut done, MAX_AT_ONCE).await;
        if n == 0 {
            return Err(ApiError::Internal); // a thread of the scheduler is gone
        }
        n_left -= n;
        let mut kept = Vec::with_capacity(n);
        for (position, translation) in done.drain(..) {
            let index = lines.indices[position];
            let (trial, draft) = (&mut trials[index], lines.drafts[index]);
            let mut translation = translation.map_err(|error| of_translator(&error))?;
            let line = draft.document_line(trial.attempt(), index as u64);
            choose(&mut translation, &line, &finisher.protection, lines.n_best);
            let best = translation.text().to_owned();
            if draft.take(trial, &best, translation, &finisher.protection) {
                again.push(index);
            } else if let Some(best) = trial.take_best() {
                let (text, sentence) = lines.lines[index];
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
        for (text, sentence, translation) in finisher.finish(kept).await? {
            on_finished(text, sentence, translation);
        }
    }
    Ok(again)
}

impl PlainTexts {
    /// Creates texts without required terms, except those of the glossary.
    pub(super) fn of(texts: Vec<String>) -> Self {
        Self {
            texts,
            terms: Vec::new(),
            only_finds_terms: false,
        }
    }
}

impl Text {
    /// Returns the text before, between and after the sentences.
    fn gaps(&self) -> Vec<String> {
        let ranges = || self.draft.sentences.iter().map(|it| it.range.clone());
        let starts = [0].into_iter().chain(ranges().map(|it| it.end));
        let ends = ranges().map(|it| it.start).chain([self.text.len()]);
        let gaps = starts.zip(ends);
        gaps.map(|(start, end)| self.text[start..end].to_owned())
            .collect()
    }

    /// Returns a sentence without anything to translate.
    fn copied(&self, draft: &DraftSentence) -> SentenceTranslation {
        SentenceTranslation {
            source: draft.range.clone(),
            text: self.text[draft.range.clone()].to_owned(),
            ..SentenceTranslation::default()
        }
    }
}
