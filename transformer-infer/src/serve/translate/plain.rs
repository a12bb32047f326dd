//! Plain text: sentence by sentence, each with its alternatives and alignments.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::document::splitter;
use super::failure::{of_scheduler, of_translator};
use super::request::{
    Alternative, SentenceEvent, SentenceTranslation, TextTranslation, TranslateOptions,
};
use super::work::{PLACEHOLDERS, compute, prepare};
use crate::attention::{LayerHead, Link};
use crate::document::{DocumentTranslator, DraftSentence, ModelLines, TextDraft};
use crate::one_line;
use crate::scheduler::{Job, JobLine, Ticket};
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;
use crate::translator::{Candidate, Translation, TranslatorError, Warning};

/// Most sentences that are finished together.
const MAX_AT_ONCE: usize = 64;

/// A line that is done, with its index in the job.
type Done = (usize, Result<Translation, TranslatorError>);

/// Texts with their sentences, of which the scheduler has those to translate.
struct Submitted {
    texts: Arc<Vec<Text>>,
    /// The text and the sentence of each line.
    lines: Vec<(usize, usize)>,
    /// What each line must contain.
    terms: Arc<Vec<Vec<String>>>,
    results: UnboundedReceiver<Done>,
    /// Cancels the lines when the request ends.
    _ticket: Option<Ticket>,
}

struct Text {
    text: String,
    draft: TextDraft,
}

/// What is needed on the way from a line to a sentence.
#[derive(Clone)]
struct Finisher {
    served: Arc<Served>,
    texts: Arc<Vec<Text>>,
    terms: Arc<Vec<Vec<String>>>,
    alignments: bool,
}

/// A line that is translated, with the index of its text and its sentence.
struct Line {
    index: usize,
    text: usize,
    sentence: usize,
    translation: Translation,
}

/// Translates texts. Each sentence that is done is sent to `events`, too.
pub(super) async fn translate_plain(
    served: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let n_bytes = texts.iter().map(String::len).sum();
    let submit = {
        let (served, options, caller) = (served.clone(), options.clone(), caller.id);
        move || submit(&served, texts, &options, caller)
    };
    let submitted = prepare(served, n_bytes, submit).await?;
    let finisher = Finisher {
        served: served.clone(),
        texts: submitted.texts.clone(),
        terms: submitted.terms.clone(),
        alignments: options.alignments,
    };
    let sentences = finish_all(submitted, &finisher, events).await?;
    let texts = finisher.texts.iter().zip(sentences);
    Ok(texts
        .map(|(text, sentences)| TextTranslation::join(sentences, text.gaps()))
        .collect())
}

/// Finds the sentences, and gives them to the scheduler.
fn submit(
    served: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: u64,
) -> Result<Submitted, ApiError> {
    let translator = served.translator();
    let search = options.search(translator.search(), options.n_best)?;
    let lines = ModelLines::new(translator, &search);
    let splitter = splitter(served, options);
    let documents = DocumentTranslator::new(&lines, &splitter, &PLACEHOLDERS);
    let texts: Vec<Text> = texts
        .into_iter()
        .map(|text| Text {
            draft: documents.draft(&text),
            text,
        })
        .collect();
    let all = texts.iter().enumerate().flat_map(|(index, text)| {
        let sentences = text.draft.sentences.iter().enumerate();
        sentences.map(move |(sentence, draft)| (index, sentence, draft))
    });
    let to_translate = all.filter(|(_, _, draft)| !draft.is_copied());
    let (mut lines, mut job_lines, mut all_terms) = (Vec::new(), Vec::new(), Vec::new());
    for (text, sentence, draft) in to_translate {
        let glossary = options.glossary.iter();
        let terms = glossary.flat_map(|glossary| glossary.terms_in(draft.line()));
        let terms: Vec<String> = terms.map(|term| term.target.to_owned()).collect();
        job_lines.push(JobLine {
            text: draft.line().to_owned(),
            terms: terms.clone(),
            index: lines.len() as u64,
            ..JobLine::default()
        });
        lines.push((text, sentence));
        all_terms.push(terms);
    }
    let (sender, results) = unbounded_channel();
    let job = Job {
        caller,
        lines: job_lines,
        search,
    };
    let on_done = move |index, result| {
        let _ = sender.send((index, result)); // the request may have ended
    };
    let ticket = match lines.is_empty() {
        true => None,
        false => {
            let ticket = served.scheduler().submit(job, on_done);
            Some(ticket.map_err(|error| of_scheduler(error, served))?)
        }
    };
    Ok(Submitted {
        texts: Arc::new(texts),
        lines,
        terms: Arc::new(all_terms),
        results,
        _ticket: ticket,
    })
}

/// Waits for all lines, and returns the sentences of each text.
async fn finish_all(
    mut submitted: Submitted,
    finisher: &Finisher,
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
    let mut n_left = submitted.lines.len();
    let mut done = Vec::new();
    while n_left > 0 {
        let n = submitted.results.recv_many(&mut done, MAX_AT_ONCE).await;
        if n == 0 {
            return Err(ApiError::Internal); // a thread of the scheduler is gone
        }
        n_left -= n;
        let lines = done.drain(..).map(|(index, translation)| {
            let (text, sentence) = submitted.lines[index];
            Ok(Line {
                index,
                text,
                sentence,
                translation: translation.map_err(|error| of_translator(&error))?,
            })
        });
        let lines = lines.collect::<Result<Vec<Line>, ApiError>>()?;
        for (text, sentence, translation) in finisher.finish(lines).await? {
            send(text, sentence, &translation);
            sentences[text][sentence] = translation;
        }
    }
    Ok(sentences)
}

impl Text {
    /// Returns what stands before, between and behind the sentences.
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

impl Finisher {
    /// Puts what is copied back into translations, and aligns their words.
    async fn finish(
        &self,
        lines: Vec<Line>,
    ) -> Result<Vec<(usize, usize, SentenceTranslation)>, ApiError> {
        let needs_links = |line: &Line| self.alignments || self.draft(line).needs_links();
        if !lines.iter().any(needs_links) {
            return Ok(lines.iter().map(|line| self.sentence(line, &[])).collect());
        }
        // The model reads the translations once more.
        let finisher = self.clone();
        let work = move || {
            let needs_links =
                |line: &&Line| finisher.alignments || finisher.draft(line).needs_links();
            let (needing, others): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(needs_links);
            let texts = needing.iter().map(|line| finisher.draft(line).line());
            let texts: Vec<&str> = texts.collect();
            let translations = needing.iter().map(|line| line.translation.clone());
            let translations: Vec<Translation> = translations.collect();
            let translator = finisher.served.translator();
            let links = translator.links(&texts, &translations, LayerHead::default());
            let links = links.map_err(|error| {
                tracing::error!(error = one_line(&error), "an alignment failed");
                ApiError::Internal
            })?;
            let needing = needing.iter().zip(&links);
            let needing = needing.map(|(line, links)| finisher.sentence(line, links));
            let others = others.iter().map(|line| finisher.sentence(line, &[]));
            Ok(needing.chain(others).collect())
        };
        compute(work).await
    }

    fn draft(&self, line: &Line) -> &DraftSentence {
        &self.texts[line.text].draft.sentences[line.sentence]
    }

    /// Makes the sentence of a line; `links` are those of each candidate.
    fn sentence(&self, line: &Line, links: &[Vec<Link>]) -> (usize, usize, SentenceTranslation) {
        let draft = self.draft(line);
        let links = |index: usize| links.get(index).map_or(&[][..], Vec::as_slice);
        let candidates = line.translation.candidates.iter().enumerate();
        let is_real =
            |(index, it): &(usize, &Candidate)| *index == 0 || it.hypothesis.score.is_finite();
        let mut candidates = candidates.filter(is_real).map(|(index, candidate)| {
            let translation = draft.translation(&candidate.text, links(index));
            (translation, candidate.hypothesis.score)
        });
        let (best, score) = candidates.next().unwrap_or_default();
        let alternatives = candidates.map(|(translation, score)| Alternative {
            text: translation.text,
            score,
        });
        let source = &self.texts[line.text].text;
        let alignment = match self.alignments {
            true => draft.words(source, &best, links(0)),
            false => Vec::new(),
        };
        let sentence = SentenceTranslation {
            source: draft.range.clone(),
            target: 0..0,
            score: score.is_finite().then_some(score),
            alternatives: alternatives.collect(),
            alignment,
            warning: self.warning(line, draft.n_parts),
            text: best.text,
        };
        (line.text, line.sentence, sentence)
    }

    fn warning(&self, line: &Line, n_parts: usize) -> Option<String> {
        let mut warnings = Vec::new();
        if n_parts > 1 {
            warnings.push(format!(
                "the sentence is too long, and was translated in {n_parts} parts"
            ));
        }
        match line.translation.warning {
            None => {}
            Some(Warning::Cut { n_kept }) => warnings.push(format!(
                "the end of the sentence, behind {n_kept} tokens, was not translated"
            )),
            Some(Warning::ManyTerms {
                n_terms,
                n_required,
            }) => warnings.push(format!(
                "of {n_terms} terms of the sentence, the first {n_required} were required"
            )),
            Some(Warning::MinLen { .. } | Warning::NoWords { .. }) => warnings.push(
                "the limits of the output length allow no translation of the right length".into(),
            ),
        }
        for index in &line.translation.unmet_terms {
            let term = &self.terms[line.index][*index];
            warnings.push(format!("the translation lacks the term `{term}`"));
        }
        (!warnings.is_empty()).then(|| warnings.join("; "))
    }
}
