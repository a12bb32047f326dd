//! [`LineWarnings`]: warnings about lines and length limits, on standard error.

use std::io::{self, Write};

use transformer_infer::search::LengthLimit;
use transformer_infer::{Translator, Warning};

/// Prints the warnings of translations. Those about length limits are alike for many lines, and printed once.
#[derive(Debug)]
pub(crate) struct LineWarnings {
    is_on: bool,
    /// True if a warning about the length limits was printed.
    has_limits: bool,
}

impl LineWarnings {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            has_limits: false,
        }
    }

    /// Warns if the model has fewer positions than `--max-len` requests.
    pub(crate) fn check_positions(
        &mut self,
        max_len: Option<LengthLimit>,
        translator: &Translator,
    ) {
        let requested = max_len.map_or(0, |max_len| max_len.limit(1));
        let positions = translator.limits().max_tgt_len;
        if let Some(positions) = positions.filter(|positions| self.is_on && requested > *positions)
        {
            // A closed standard error does not stop the command.
            let _ = writeln!(
                io::stderr(),
                "warning: `max_len` is {requested} or more, but the model has positions for {positions} tokens; \
                 translations end there"
            );
        }
    }

    /// Prints the warning of the line with this number, from 1.
    pub(crate) fn print(&mut self, line: usize, warning: Option<Warning>) {
        let Some(warning) = warning.filter(|_| self.is_on) else {
            return;
        };
        let is_of_limits = warning.is_of_limits();
        if is_of_limits && self.has_limits {
            return;
        }
        self.has_limits |= is_of_limits;
        let more = if is_of_limits {
            " (further lines like it are not listed)"
        } else {
            ""
        };
        let _ = writeln!(io::stderr(), "warning: line {line}: {warning}{more}");
    }
}
