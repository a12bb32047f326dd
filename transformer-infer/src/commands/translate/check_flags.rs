//! [`CheckFlags`]: the flags for the check of translations; and [`print_doubtful`].

use std::io::{self, Write};

use clap::Args;
use transformer_infer::Translator;
use transformer_infer::document::{Doubtful, Protection};

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CheckFlags {
    /// Check each translation, and translate again what lacks numbers, placeholders, URLs or e-mail addresses of its
    /// source, repeats itself, or has an odd length or script [default: only for documents].
    #[arg(long, conflicts_with_all = ["no_check", "prefix", "prefixes"])]
    check: bool,
    /// Do not check the translations of a document.
    #[arg(long, requires = "document")]
    no_check: bool,
}

impl CheckFlags {
    /// Adds the check to the protection of a document, unless a flag forbids it.
    pub(super) fn of_document(self, protection: Protection, translator: &Translator) -> Protection {
        match self.no_check {
            true => protection,
            false => protection.with_check(translator.languages().tgt.as_ref()),
        }
    }

    /// Returns the protection with a check, if lines are checked.
    pub(super) fn of_lines(self, translator: &Translator) -> Option<Protection> {
        let target = translator.languages().tgt.as_ref();
        self.check
            .then(|| Protection::placeholders().with_check(target))
    }
}

/// Prints the number of doubtful translations; `unit` is the name of what was translated.
pub(super) fn print_doubtful(doubtful: Doubtful, unit: &str) {
    let Doubtful { n, faults, first } = doubtful;
    if n > 0 {
        let many = if n == 1 { "" } else { "s" };
        // A closed standard error does not stop the command.
        let _ = writeln!(
            io::stderr(),
            "warning: {n} doubtful translation{many} ({faults}); the first is that of {unit} {first}"
        );
    }
}
