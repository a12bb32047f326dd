//! [`Round`]: lines that the scheduler translates together, each in the search of its way.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::models::Served;
use transformer_documents::{DocumentLine, Protection, Way};
use transformer_search::Search;
use transformer_translate::scheduler::{Job, JobLine, Ticket};
use transformer_translate::{Translation, TranslatorError};

/// A line that is done, with its index in the round.
pub(super) type Done = (usize, Result<Translation, TranslatorError>);

/// Lines that the scheduler has.
pub(super) struct Round {
    /// Number of lines.
    pub(super) n_lines: usize,
    /// The lines that are done.
    pub(super) results: UnboundedReceiver<Done>,
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
        let n_lines = lines.len();
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
            n_lines,
            results,
            _tickets: tickets,
        })
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
        ..JobLine::default()
    };
    (line.attempt.way, job_line)
}

/// Writes the candidates of an attempt as its source is written, and puts the one with the fewest faults first. Keeps
/// `n_best`.
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
