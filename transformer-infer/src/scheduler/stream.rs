//! [`JobStream`]: the events of a job, one after the other.

use std::sync::mpsc;

use super::{Job, JobEvent, Scheduler, SchedulerError, Ticket};

/// The events of a job, in the order in which they happen. [`next`](Iterator::next) waits for one; the iterator ends
/// with the job, or if the scheduler is dropped.
///
/// Dropping it cancels the job: its lines leave their batch before the next step.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use transformer_core::directory::Tokenizers;
/// use transformer_core::text::{Tokenizer, TokenizerConfig};
/// use transformer_core::{TransformerConfig, device};
/// use transformer_infer::Translator;
/// use transformer_infer::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
/// use transformer_infer::search::Search;
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
    events: mpsc::Receiver<JobEvent>,
    ticket: Ticket,
}

impl Scheduler {
    /// Accepts lines to translate, as [`submit`](Self::submit) does, and returns what becomes of them: each token of a
    /// greedy search, and each translation.
    ///
    /// # Errors
    ///
    /// Returns a [`SchedulerError`] as `submit` does.
    pub fn stream(&self, job: Job) -> Result<JobStream, SchedulerError> {
        let (sender, events) = mpsc::channel();
        // The receiver may be gone: then the ticket is, too.
        let ticket = self.submit_streaming(job, move |event| drop(sender.send(event)))?;
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
        self.events.recv().ok()
    }
}
