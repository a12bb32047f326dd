//! [`ScheduledLines`]: a scheduler as the translator of a document's sentences.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use super::line_translator::{DocumentLine, LineTranslator, TranslatedLine};
use super::{DocumentError, ModelLines};
use crate::scheduler::{Job, JobLine, Scheduler, SchedulerError};
use crate::search::Search;
use crate::translator::{Glossary, Translation};

/// Translates the sentences of documents with a [`Scheduler`], so that several documents, and other texts, share its
/// batches.
///
/// Each sentence gets the translation that [`ModelLines`] returns for it. Attention for sentences with markup inside is
/// computed on the calling thread. Sentences that are not translated when the call ends, because of an error or a
/// panic, are cancelled.
#[derive(Debug)]
pub struct ScheduledLines<'a> {
    lines: ModelLines<'a>,
    scheduler: &'a Scheduler,
    caller: u64,
    stop: Option<&'a AtomicBool>,
}

impl<'a> ScheduledLines<'a> {
    /// Translates for a caller with a search, which returns one translation for each sentence, whatever its `n_best`.
    pub fn new(scheduler: &'a Scheduler, search: &Search, caller: u64) -> Self {
        Self {
            lines: ModelLines::new(scheduler.translator(), search),
            scheduler,
            caller,
            stop: None,
        }
    }

    /// Sets the longest part of a sentence that is translated at once; see [`ModelLines::with_max_tokens`].
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: usize) -> Self {
        let lines = self.lines.with_max_tokens(max_tokens);
        Self { lines, ..self }
    }

    /// Requires the translations of a glossary for its terms.
    #[must_use]
    pub fn with_glossary(self, glossary: &'a Glossary) -> Self {
        let lines = self.lines.with_glossary(glossary);
        Self { lines, ..self }
    }

    /// Ends with [`DocumentError::Cancelled`] after the next sentence once `stop` is set, by another thread or by
    /// `on_progress`.
    #[must_use]
    pub fn with_stop(self, stop: &'a AtomicBool) -> Self {
        let stop = Some(stop);
        Self { stop, ..self }
    }

    fn check_stop(&self) -> Result<(), DocumentError> {
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(DocumentError::Cancelled),
            false => Ok(()),
        }
    }
}

impl LineTranslator for ScheduledLines<'_> {
    fn translate_lines(
        &self,
        lines: &[DocumentLine<'_>],
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<TranslatedLine>, DocumentError> {
        self.check_stop()?;
        let terms = self.lines.terms(lines);
        let of_job = lines.iter().zip(&terms).map(|(line, terms)| JobLine {
            text: line.text.to_owned(),
            terms: terms.iter().map(|term| (*term).to_owned()).collect(),
            index: line.index,
            ..JobLine::default()
        });
        let job = Job {
            caller: self.caller,
            lines: of_job.collect(),
            search: self.lines.search().clone(),
        };
        let (sender, results) = mpsc::channel();
        let _ticket = self.scheduler.submit(job, move |index, result| {
            // The receiver is gone after an error, and so is the ticket.
            let _ = sender.send((index, result));
        })?;
        let mut translations: Vec<Option<Translation>> = vec![None; lines.len()];
        for (index, result) in results {
            translations[index] = Some(result?);
            on_progress(1);
            self.check_stop()?;
        }
        // Dropping the scheduler cancels jobs, and their callbacks end.
        let translations: Option<Vec<Translation>> = translations.into_iter().collect();
        let translations = translations.ok_or(SchedulerError::ShutDown)?;
        self.lines.translated(lines, &terms, translations)
    }

    fn longest_start(&self, text: &str) -> Option<usize> {
        self.lines.longest_start(text)
    }
}
