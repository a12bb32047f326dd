//! [`TermFlags`]: the glossary of commands that translate, and the report of its terms.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use transformer_core::text::printable;
use transformer_infer::{Glossary, Translation};

use super::CommandError;

/// Maximum number of unmet terms that are listed.
const MAX_LISTED: usize = 10;

/// The flag of commands that translate with a glossary.
#[derive(Debug, Args)]
pub(crate) struct TermFlags {
    /// File with a glossary: lines of a source term, a tab, and its translation, which must occur in the translation
    /// of every line that has the term. A line that begins with # is a comment.
    #[arg(long, value_name = "FILE")]
    terms: Option<PathBuf>,
}

impl TermFlags {
    /// Reads the glossary, if one is given.
    pub(crate) fn open(&self) -> Result<Option<Glossary>, CommandError> {
        Ok(self.terms.as_ref().map(Glossary::read).transpose()?)
    }
}

/// Returns the terms that the translation of a line must contain.
pub(crate) fn terms_in<'a>(glossary: Option<&'a Glossary>, line: &str) -> Vec<&'a str> {
    let terms = glossary.map(|glossary| glossary.terms_in(line));
    let terms = terms.unwrap_or_default().into_iter();
    terms.map(|term| term.target).collect()
}

/// Counts the terms that translations contain.
#[derive(Debug, Default)]
pub(crate) struct TermReport {
    n_terms: usize,
    n_unmet: usize,
    /// The first unmet terms, with the numbers of their lines, from 1.
    listed: Vec<(usize, String)>,
}

impl TermReport {
    /// Counts the terms of the line with this number, from 1. `terms` are those that its translation must contain.
    pub(crate) fn add(&mut self, line: usize, terms: &[&str], translation: &Translation) {
        self.n_terms += terms.len();
        self.n_unmet += translation.unmet_terms.len();
        for index in &translation.unmet_terms {
            if self.listed.len() < MAX_LISTED {
                self.listed.push((line, terms[*index].to_owned()));
            }
        }
    }

    /// Prints the number of terms that were met, and the first ones that were not, to standard error.
    pub(crate) fn print(&self) {
        let mut output = io::stderr().lock();
        for (line, term) in &self.listed {
            let term = printable(term);
            // A closed standard error does not stop the command.
            let _ = writeln!(
                output,
                "warning: line {line}: the translation lacks the term `{term}`"
            );
        }
        let n_more = self.n_unmet - self.listed.len();
        if n_more > 0 {
            let _ = writeln!(output, "warning: {n_more} more terms are missing");
        }
        drop(output);
        print_terms(self.n_terms, self.n_unmet);
    }
}

/// Prints the number of the text's terms, and of those that were met, to standard error.
pub(crate) fn print_terms(n_terms: usize, n_unmet: usize) {
    let n_met = n_terms - n_unmet;
    let mut output = io::stderr();
    // A closed standard error does not stop the command.
    let _ = match n_terms {
        0 => writeln!(output, "no term of the glossary occurs in the text"),
        _ => writeln!(output, "terms: {n_met} of {n_terms} were met"),
    };
}
