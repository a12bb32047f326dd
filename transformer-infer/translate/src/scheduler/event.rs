//! [`JobEvent`]: the events of a streamed job.

use crate::TranslatorError;
use crate::translator::Translation;

/// An event of a line of a job that is [streamed](super::Scheduler::submit_streaming).
#[derive(Debug)]
#[non_exhaustive]
pub enum JobEvent {
    /// The translation of a line has more tokens: one more, or several in a [`JobStream`](super::JobStream) that is
    /// read more slowly. The number of tokens of a line only grows.
    ///
    /// Reported for greedy search, and for sampling with [`n_best`](transformer_search::Search::n_best) 1: with a beam,
    /// no token is certain before its end. Lines with terms, and models that are not on a CPU, report only their ends.
    Growing {
        /// Index of the line in the job.
        line: usize,
        /// Number of tokens so far.
        n_tokens: usize,
        /// The text of these tokens. The next text begins with it, unless a character consists of several tokens.
        text: String,
    },
    /// A line is done; it has no further events.
    Done {
        /// Index of the line in the job.
        line: usize,
        /// Its translation, or the error.
        result: Result<Translation, TranslatorError>,
    },
}
