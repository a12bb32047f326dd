//! [`JobStream`]: the events of a job, in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Job, JobEvent, Scheduler, Ticket};
use crate::TranslatorError;

/// The events of a job. [`next`](Iterator::next) waits for one; the iterator ends with the job, or when the scheduler
/// is dropped.
///
/// No thread of the scheduler waits for the reader. For each line, only the newest unread [`JobEvent::Growing`] is
/// kept: a slow reader gets fewer of them, each with the whole text so far, and the memory does not grow with their
/// number. Each [`JobEvent::Done`] is kept, in the order in which the lines end.
///
/// Dropping this cancels the job: its lines leave their batch before the next step.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use transformer_core::directory::Tokenizers;
/// use transformer_core::text::{Tokenizer, TokenizerConfig};
/// use transformer_core::{TransformerConfig, device};
/// use transformer_translate::Translator;
/// use transformer_translate::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
/// use transformer_search::Search;
///
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])?;
/// let n = tokenizer.vocab_size();
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(n, n) };
/// let (_, device) = device::choose(None)?;
/// let translator = Translator::new(config.init(&device)?, &config, Tokenizers::Joint(tokenizer))?;
///
/// let scheduler = Scheduler::new(Arc::new(translator), &SchedulerOptions::default())?;
/// let line = JobLine { text: "ein Haus".to_owned(), ..JobLine::default() };
/// for event in scheduler.stream(Job { caller: 1, lines: vec![line], search: Search::greedy() })? {
///     match event {
///         JobEvent::Growing { text, .. } => println!("… {text}"),
///         JobEvent::Done { result, .. } => println!("{}", result?.text()),
///         _ => {}
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a stream cancels its job"]
pub struct JobStream {
    events: Arc<Events>,
    ticket: Ticket,
}

#[derive(Debug, Default)]
struct Events {
    unread: Mutex<Unread>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Unread {
    done: VecDeque<JobEvent>,
    /// The newest event of each unfinished line, if it has one.
    growing: BTreeMap<usize, JobEvent>,
    /// The lines of `growing`; the first has waited longest.
    turns: VecDeque<usize>,
    is_closed: bool,
}

/// The scheduler's end of the stream; dropping it ends the stream.
struct Sender(Arc<Events>);

impl Scheduler {
    /// Accepts lines to translate, as [`submit`](Self::submit) does, and returns their events: the tokens of a greedy
    /// search as they are decoded, and each translation.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] as `submit` does.
    pub fn stream(&self, job: Job) -> Result<JobStream, TranslatorError> {
        let events = Arc::new(Events::default());
        let sender = Sender(Arc::clone(&events));
        let ticket = self.submit_streaming(job, move |event| sender.send(event))?;
        Ok(JobStream { events, ticket })
    }
}

impl JobStream {
    /// Returns whether each line of the job is done; its last events may still be unread.
    pub fn is_done(&self) -> bool {
        self.ticket.is_done()
    }
}

impl Iterator for JobStream {
    type Item = JobEvent;

    fn next(&mut self) -> Option<JobEvent> {
        let mut unread = self.events.lock();
        loop {
            let event = unread.pop();
            if event.is_some() || unread.is_closed {
                return event;
            }
            let woken = self.events.changed.wait(unread);
            unread = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Events {
    /// Locks the events. A poisoned lock is taken: nothing that may panic runs under it.
    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unread {
    fn push(&mut self, event: JobEvent) {
        match event {
            JobEvent::Growing { line, .. } => {
                if self.growing.insert(line, event).is_none() {
                    self.turns.push_back(line);
                }
            }
            JobEvent::Done { line, .. } => {
                // Its text is part of the translation.
                if self.growing.remove(&line).is_some() {
                    self.turns.retain(|other| *other != line);
                }
                self.done.push_back(event);
            }
        }
    }

    fn pop(&mut self) -> Option<JobEvent> {
        self.done.pop_front().or_else(|| {
            let line = self.turns.pop_front()?;
            self.growing.remove(&line)
        })
    }
}

impl Sender {
    fn send(&self, event: JobEvent) {
        self.0.lock().push(event);
        self.0.changed.notify_one();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TranslatorError;

    fn growing(line: usize, n_tokens: usize) -> JobEvent {
        let text = "a".repeat(n_tokens);
        JobEvent::Growing {
            line,
            n_tokens,
            text,
        }
    }

    fn done(line: usize) -> JobEvent {
        let result = Err(TranslatorError::LongPrefix { line: 1, most: 1 });
        JobEvent::Done { line, result }
    }

    /// Returns for each event that is read its line, and its number of tokens unless the line is done.
    fn read(events: impl IntoIterator<Item = JobEvent>) -> Vec<(usize, Option<usize>)> {
        let mut unread = Unread::default();
        events.into_iter().for_each(|event| unread.push(event));
        let read = std::iter::from_fn(|| unread.pop()).map(|event| match event {
            JobEvent::Growing { line, n_tokens, .. } => (line, Some(n_tokens)),
            JobEvent::Done { line, .. } => (line, None),
        });
        read.collect()
    }

    #[test]
    fn a_slow_reader_gets_the_newest_event_of_each_line() {
        let events = (1..=1000).flat_map(|n_tokens| [growing(7, n_tokens), growing(2, n_tokens)]);
        assert_eq!(read(events), [(7, Some(1000)), (2, Some(1000))]);
    }

    #[test]
    fn nothing_of_a_line_is_read_after_its_end() {
        let events = [growing(0, 1), growing(1, 1), done(0)];
        assert_eq!(read(events), [(0, None), (1, Some(1))]);
    }

    #[test]
    fn every_end_of_a_line_is_read_in_order() {
        let events = [done(4), growing(1, 1), done(3), done(1)];
        assert_eq!(read(events), [(4, None), (3, None), (1, None)]);
    }
}
