//! [`ServedLines`]: the sentences of documents, translated by the scheduler of a model.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::failure::{of_scheduler, of_translator};
use crate::document::{DocumentError, DocumentLine, LineTranslator, ModelLines, TranslatedLine};
use crate::scheduler::{Job, JobLine, SchedulerError};
use crate::search::Search;
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;
use transformer_translate::{Glossary, Translation, TranslatorError};

/// Time that a request in progress waits before it asks for room in the queue again.
pub(super) const WAIT: Duration = Duration::from_millis(20);

/// Translates the sentences of documents with a model's scheduler, on a blocking thread. Ends early, with an error,
/// when its [`Hold`] is dropped.
pub(crate) struct ServedLines {
    served: Arc<Served>,
    search: Search,
    caller: Caller,
    glossary: Option<Arc<Glossary>>,
    sender: Sender<Message>,
    messages: Mutex<Receiver<Message>>,
    /// The refusal, which a [`DocumentError`] cannot contain.
    failure: Mutex<Option<ApiError>>,
    /// Set when lines were accepted: the next ones wait for room.
    has_begun: AtomicBool,
}

/// Keeps the translation of a request's lines running until it is dropped.
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
            has_begun: AtomicBool::new(false),
        };
        (lines, Hold(sender))
    }

    /// Returns the refusal that caused an error of a document.
    pub(super) fn failure(&self) -> Option<ApiError> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn fail(&self, error: ApiError) -> DocumentError {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        DocumentError::Write(io::ErrorKind::Interrupted.into())
    }

    fn model_lines(&self) -> ModelLines<'_> {
        let lines = ModelLines::new(self.served.translator(), &self.search);
        match &self.glossary {
            Some(glossary) => lines.with_glossary(glossary),
            None => lines,
        }
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
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = loop {
            if !matches!(messages.try_recv(), Err(TryRecvError::Empty)) {
                return Err(self.fail(ApiError::Stopping));
            }
            let sender = self.sender.clone();
            let on_done = move |index, result| {
                let _ = sender.send(Message::Done(index, result));
            };
            let (scheduler, job) = (self.served.scheduler(), job.clone());
            let submitted = match self.caller.slot {
                None => scheduler.submit(job, on_done),
                Some(_) => scheduler.submit_unlimited(job, on_done),
            };
            match submitted {
                Ok(ticket) => break ticket,
                Err(SchedulerError::QueueFull { .. }) if self.has_begun.load(Ordering::Relaxed) => {
                    if !matches!(messages.recv_timeout(WAIT), Err(RecvTimeoutError::Timeout)) {
                        return Err(self.fail(ApiError::Stopping));
                    }
                }
                Err(error) => return Err(self.fail(of_scheduler(error, &self.served))),
            }
        };
        self.has_begun.store(true, Ordering::Relaxed);
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
        let model_lines = self.model_lines();
        let terms = model_lines.terms(lines);
        let job = lines.iter().zip(&terms).map(|(line, terms)| JobLine {
            text: line.text.to_owned(),
            terms: terms.iter().map(|term| (*term).to_owned()).collect(),
            index: line.index,
            ..JobLine::default()
        });
        let translations = self.translations(job.collect(), on_progress)?;
        model_lines.translated(lines, &terms, translations)
    }

    fn longest_start(&self, text: &str) -> Option<usize> {
        self.model_lines().longest_start(text)
    }

    fn can_write(&self, text: &str) -> bool {
        self.model_lines().can_write(text)
    }
}
