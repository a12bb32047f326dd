//! Standard output of a run.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use transformer_program::{OutputError, check_output};

/// Standard output. A line that cannot be written does not end a training, but its program fails at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Output {
    /// Prints text unchanged.
    pub(crate) fn print(&self, text: &str) {
        if let Err(error) = io::stdout().write_all(text.as_bytes()) {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }

    /// Prints a line.
    pub(crate) fn print_line(&self, line: &str) {
        self.print(&format!("{line}\n"));
    }

    /// Checks that everything printed has arrived. A closed pipe, such as `head`, is not a failure.
    pub(crate) fn finish(&self) -> Result<(), OutputError> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match failure.take() {
            Some(error) => Err(error.into()),
            None => check_output(),
        };
        match outcome {
            Err(error) if error.is_closed_pipe() => Ok(()),
            outcome => outcome,
        }
    }
}
