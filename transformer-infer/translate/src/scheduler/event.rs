//! [`JobEvent`]: what a job that is streamed reports.

use crate::translator::{Translation, TranslatorError};

/// What happened to a line of a job that is [streamed](super::Scheduler::submit_streaming).
#[derive(Debug)]
#[non_exhaustive]
pub enum JobEvent {
    /// The translation of a line has more tokens: one more, except in a [`JobStream`](super::JobStream) that is read more
    /// slowly. The numbers of tokens of a line only grow.
    ///
    /// Reported for greedy search, and for sampling with [`n_best`](transformer_search::Search::n_best) 1: a beam has no
    /// token that is certain before its end. Lines with terms, and models that are not on a CPU, report only their
    /// ends.
    Growing {
        /// Index of the line in the job.
        line: usize,
        /// Number of tokens so far.
        n_tokens: usize,
        /// The text of these tokens. The next text begins with it, unless a character consists of several tokens.
        text: String,
    },
    /// A line is done; nothing more is reported of it.
    Done {
        /// Index of the line in the job.
        line: usize,
        /// Its translation, or why there is none.
        result: Result<Translation, TranslatorError>,
    },
}
