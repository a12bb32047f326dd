//! The flags of `translate` for documents.

use std::path::PathBuf;

use clap::Args;
use transformer_infer::Translator;
use transformer_infer::document::format::{Format, FormatOptions, Paragraphs};
use transformer_infer::document::{Protection, Split};

use crate::commands::{CommandError, at_least_one};

/// The flags for lines of text, which documents do not have.
const OF_LINES: [&str; 8] = [
    "text",
    "prefix",
    "prefixes",
    "scores",
    "json",
    "alignments",
    "n_best",
    "sample",
];

/// The language of documents of an unknown language.
const DEFAULT_LANGUAGE: &str = "en";

#[derive(Debug, Args)]
#[command(next_help_heading = "Documents")]
pub(super) struct DocumentFlags {
    /// Document to translate, `-` for standard input: its sentences are translated one by one, and everything else
    /// stays as it is.
    #[arg(long = "in", value_name = "FILE", group = "document", conflicts_with_all = OF_LINES)]
    pub(super) input: Option<PathBuf>,
    /// File to write the translated document to [default: standard output].
    #[arg(long = "out", value_name = "FILE", requires = "document")]
    pub(super) output: Option<PathBuf>,
    /// Whether --out may replace a file.
    #[arg(long, requires = "output")]
    pub(super) overwrite: bool,
    /// Format of the document [default: by the extension of --in].
    #[arg(long, value_name = "FORMAT", group = "document", conflicts_with_all = OF_LINES)]
    pub(super) format: Option<Format>,
    /// What is translated by itself: sentences, lines, or none (whole paragraphs).
    #[arg(long, value_name = "UNIT", default_value_t, requires = "document")]
    pub(super) split: Split,
    /// Language of the document, whose rules of sentences apply, such as `en` [default: the model's, or en].
    #[arg(long, value_name = "CODE", requires = "document")]
    lang: Option<String>,
    /// Whether the lines of plain text are wrapped: sentences run over line ends, and a blank line ends a paragraph.
    #[arg(long, requires = "document")]
    wrapped: bool,
    /// Longest part of a sentence that is translated at once, in source tokens; longer ones are split behind a comma
    /// or a word, with a warning [default: 200, or the model's limit].
    #[arg(long, value_name = "N", value_parser = at_least_one(), requires = "document")]
    pub(super) max_segment: Option<usize>,
    /// Copy what this regular expression finds, as placeholders and URLs are copied; repeat the flag for further ones.
    #[arg(long, value_name = "REGEX", requires = "document")]
    protect: Vec<String>,
    /// Copy numbers and their units.
    #[arg(long, requires = "document")]
    protect_numbers: bool,
    /// Translate placeholders, URLs and codes of emoji like other words.
    #[arg(long, requires = "document")]
    no_placeholders: bool,
}

impl DocumentFlags {
    /// Returns whether a document is translated, and not lines.
    pub(super) fn are_given(&self) -> bool {
        self.input.is_some() || self.format.is_some()
    }

    /// Returns the language whose rules of sentences apply.
    pub(super) fn language<'a>(&'a self, _translator: &'a Translator) -> &'a str {
        self.lang.as_deref().unwrap_or(DEFAULT_LANGUAGE)
    }

    /// Returns how the format is read.
    pub(super) fn format_options(&self) -> Result<FormatOptions, CommandError> {
        let mut options = FormatOptions::default();
        if self.wrapped {
            options.paragraphs = Paragraphs::BlankLines;
        }
        Ok(options)
    }

    /// Returns what is copied.
    pub(super) fn protection(&self) -> Result<Protection, CommandError> {
        let mut protection = match self.no_placeholders {
            true => Protection::default(),
            false => Protection::placeholders(),
        };
        if self.protect_numbers {
            protection = protection.with_numbers();
        }
        for pattern in &self.protect {
            protection = protection.with_pattern(pattern)?;
        }
        Ok(protection)
    }
}
