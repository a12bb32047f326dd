//! [`ServedLines`]: the sentences of documents, translated by the scheduler of a model.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use super::failure::{of_scheduler, of_translator};
use crate::attention::LayerHead;
use crate::document::{DocumentError, DocumentLine, LineTranslator, ModelLines, TranslatedLine};
use crate::scheduler::{Job, JobLine};
use crate::search::Search;
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;
use crate::translator::{Glossary, Translation, TranslatorError};

/// Translates the sentences of documents by the scheduler of a model, on a thread that waits. Ends early, with an error,
/// when its [`Hold`] is dropped.
pub(crate) struct ServedLines {
    served: Arc<Served>,
    search: Search,
    caller: Caller,
    glossary: Option<Arc<Glossary>>,
    sender: Sender<Message>,
    messages: Mutex<Receiver<Message>>,
    /// What went wrong, which [`DocumentError`] cannot say.
    failure: Mutex<Option<ApiError>>,
}

/// Lets the lines of a request be translated as long as it is there.
#[derive(Debug)]
pub(super) struct Hold(Sender<Message>);

enum Message {
    Done(usize, Result<Translation, TranslatorError>),
    Cancelled,
}

impl fmt::Debug for ServedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedLines")
            .field("model", &self.served.name())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Message")
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Cancelled);
    }
}

impl ServedLines {
    pub(super) fn new(
        served: &Arc<Served>,
        search: Search,
        caller: &Caller,
        glossary: Option<Arc<Glossary>>,
    ) -> (Self, Hold) {
        let (sender, messages) = channel();
        let lines = Self {
            served: served.clone(),
            search,
            caller: caller.clone(),
            glossary,
            sender: sender.clone(),
            messages: Mutex::new(messages),
            failure: Mutex::default(),
        };
        (lines, Hold(sender))
    }

    /// Returns the refusal behind an error of a document.
    pub(super) fn failure(&self) -> Option<ApiError> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn fail(&self, error: ApiError) -> DocumentError {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        DocumentError::Write(io::ErrorKind::Interrupted.into())
    }

    /// Returns the terms that the translation of a line must contain.
    fn terms(&self, line: &str) -> Vec<String> {
        let glossary = self.glossary.iter();
        let terms = glossary.flat_map(|glossary| glossary.terms_in(line));
        terms.map(|term| term.target.to_owned()).collect()
    }

    fn translations(
        &self,
        lines: Vec<JobLine>,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Translation>, DocumentError> {
        let mut translations: Vec<Option<Translation>> = vec![None; lines.len()];
        let job = Job {
            caller: self.caller.id,
            lines,
            search: self.search.clone(),
        };
        let sender = self.sender.clone();
        let on_done = move |index, result| {
            let _ = sender.send(Message::Done(index, result));
        };
        let scheduler = self.served.scheduler();
        let submitted = if self.caller.is_limited {
            scheduler.submit(job, on_done)
        } else {
            scheduler.submit_unlimited(job, on_done)
        };
        let ticket = submitted.map_err(|error| self.fail(of_scheduler(error, &self.served)))?;
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..translations.len() {
            match messages.recv() {
                Ok(Message::Done(index, Ok(translation))) => {
                    translations[index] = Some(translation);
                    on_progress(1);
                }
                Ok(Message::Done(_, Err(error))) => return Err(self.fail(of_translator(&error))),
                Ok(Message::Cancelled) | Err(_) => return Err(self.fail(ApiError::Stopping)),
            }
        }
        drop(ticket);
        let all: Option<Vec<Translation>> = translations.into_iter().collect();
        all.ok_or_else(|| self.fail(ApiError::Internal))
    }
}

impl LineTranslator for ServedLines {
    fn translate_lines(
        &self,
        lines: &[DocumentLine<'_>],
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<TranslatedLine>, DocumentError> {
        let job_line = |line: &DocumentLine<'_>| JobLine {
            text: line.text.to_owned(),
            terms: self.terms(line.text),
            index: line.index,
            ..JobLine::default()
        };
        let job: Vec<JobLine> = lines.iter().map(job_line).collect();
        let terms: Vec<Vec<String>> = job.iter().map(|line| line.terms.clone()).collect();
        let translations = self.translations(job, on_progress)?;
        let needing: Vec<usize> = (0..lines.len())
            .filter(|index| lines[*index].needs_links)
            .collect();
        let texts: Vec<&str> = needing.iter().map(|index| lines[*index].text).collect();
        let of_needing: Vec<Translation> = needing
            .iter()
            .map(|index| translations[*index].clone())
            .collect();
        let translator = self.served.translator();
        let links = match needing.is_empty() {
            true => Vec::new(),
            false => translator.links(&texts, &of_needing, LayerHead::default())?,
        };
        let line = |(translation, terms): (Translation, Vec<String>)| TranslatedLine {
            text: translation.text().to_owned(),
            links: Vec::new(),
            warning: translation.warning,
            n_terms: terms.len(),
            unmet_terms: {
                let unmet = translation.unmet_terms.iter();
                unmet.map(|index| terms[*index].clone()).collect()
            },
        };
        let pairs = translations.into_iter().zip(terms);
        let mut translated: Vec<TranslatedLine> = pairs.map(line).collect();
        for (index, links) in needing.into_iter().zip(links) {
            translated[index].links = links.into_iter().next().unwrap_or_default();
        }
        Ok(translated)
    }

    fn longest_start(&self, text: &str) -> Option<usize> {
        ModelLines::new(self.served.translator(), &self.search).longest_start(text)
    }
}
