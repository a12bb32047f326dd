//! [`Round`]: lines that the scheduler translates together, each in the search of its way; [`translate_line`]: one line
//! unchanged, to show how a model translates.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use transformer_documents::{Attempt, DocumentLine, Protection, Way};
use transformer_search::Search;
use transformer_translate::scheduler::{Job, JobLine, Ticket};
use transformer_translate::{Translation, TranslatorError};

use super::request::TranslateOptions;
use super::work::{of_scheduler, of_translator, prepare};
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;

/// Maximum number of lines that [`Round::next`] returns.
const MAX_AT_ONCE: usize = 64;

pub(super) struct Round {
    n_left: usize,
    /// The lines that are done, each with its index in the round.
    results: UnboundedReceiver<(usize, Result<Translation, TranslatorError>)>,
    /// Cancel the lines when they are dropped.
    _tickets: Vec<Ticket>,
}

impl Round {
    /// Gives lines to the scheduler, each with its way. Lines of an accepted request are never refused.
    pub(super) fn start(
        served: &Served,
        caller: u64,
        search: &Search,
        lines: Vec<(Way, JobLine)>,
        is_accepted: bool,
    ) -> Result<Self, TranslatorError> {
        let n_left = lines.len();
        let (sender, results) = unbounded_channel();
        let numbered = lines.into_iter().enumerate();
        let numbered = numbered.map(|(index, (way, line))| (way, (index, line)));
        let mut tickets = Vec::new();
        for (search, own) in Way::groups(numbered, search) {
            let (indices, lines): (Vec<usize>, Vec<JobLine>) = own.into_iter().unzip();
            let job = Job {
                caller,
                lines,
                search,
            };
            let sender = sender.clone();
            let on_done = move |line: usize, result| {
                let _ = sender.send((indices[line], result)); // the request may have ended
            };
            tickets.push(match is_accepted {
                true => served.scheduler().submit_unlimited(job, on_done),
                false => served.scheduler().submit(job, on_done),
            }?);
        }
        Ok(Self {
            n_left,
            results,
            _tickets: tickets,
        })
    }

    /// Waits for some of the lines, and returns them with their indices; `None` after the last ones.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<(usize, Translation)>>, ApiError> {
        if self.n_left == 0 {
            return Ok(None);
        }
        let mut done = Vec::new();
        let n = self.results.recv_many(&mut done, MAX_AT_ONCE).await;
        if n == 0 {
            return Err(ApiError::Internal); // a thread of the scheduler is gone
        }
        self.n_left -= n;
        let done = done.into_iter().map(|(index, result)| {
            let translation = result.map_err(|error| of_translator(&error))?;
            Ok((index, translation))
        });
        done.collect::<Result<_, _>>().map(Some)
    }
}

/// Returns the way and the line of a sentence, with the terms of a glossary.
pub(super) fn job_line(
    line: &DocumentLine<'_>,
    terms: &[&str],
    served: &Served,
    search: &Search,
) -> (Way, JobLine) {
    let required = line.required(terms, search.sampling.is_some()).into_iter();
    let job_line = JobLine {
        text: line.text.to_owned(),
        terms: required.map(str::to_owned).collect(),
        index: line.index,
        direction: served.direction,
        is_again: line.attempt != Attempt::default(),
        ..JobLine::default()
    };
    (line.attempt.way, job_line)
}

/// Writes candidates as their source is written, puts the one with the fewest faults first, and keeps `n_best`.
pub(super) fn choose(
    translation: &mut Translation,
    line: &DocumentLine<'_>,
    protection: &Protection,
    n_best: usize,
) {
    let candidates = translation.candidates.iter_mut();
    let best = line.choose(candidates.map(|it| &mut it.text), protection);
    translation.prefer(best, n_best);
}

/// Translates a line with the model's own search. Dropping the future cancels it.
pub(crate) async fn translate_line(
    served: &Arc<Served>,
    text: String,
    caller: &Caller,
) -> Result<Translation, ApiError> {
    let search = TranslateOptions::default().search(served.translator().search(), 1)?;
    let n_bytes = text.len();
    let job = Job {
        caller: caller.id,
        lines: vec![JobLine {
            text,
            direction: served.direction,
            ..JobLine::default()
        }],
        search,
    };
    let (sender, result) = oneshot::channel();
    let mut sender = Some(sender);
    let on_done = move |_, result| {
        if let Some(sender) = sender.take() {
            let _ = sender.send(result); // the request may have ended
        }
    };
    let submit = {
        let (served, id) = (served.clone(), caller.id);
        move || {
            let submitted = served.scheduler().submit(job, on_done);
            submitted.map_err(|error| of_scheduler(error, &served, id))
        }
    };
    let _ticket = prepare(served, caller.id, n_bytes, submit).await?;
    let result = result.await.map_err(|_| ApiError::Internal)?;
    result.map_err(|error| of_translator(&error))
}
