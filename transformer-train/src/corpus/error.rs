//! [`CorpusError`]: the errors of parallel text and its batches, each in one line with file, line and remedy.

use std::io;
use std::path::{Path, PathBuf};

use transformer_core::directory::DirectoryError;
use transformer_core::lines::LineError;
use transformer_core::text::TokenizerError;

use crate::config::ConfigError;
use crate::corpus::CorpusSummary;

/// Error of reading or storing parallel text, or of grouping it into batches. Lines and bytes are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum CorpusError {
    /// A file cannot be opened, read or decoded.
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(
        "cleaning leaves no pair of {file}: the reasons are above; check the files and `--src-lang` and `--tgt-lang`, or \
         keep all pairs by `--clean=false`"
    )]
    AllDropped { file: String },
    #[error(
        "{src} has {src_lines} lines but {tgt} has {tgt_lines}; line n of one must be the translation of line n of the \
         other"
    )]
    LineCounts {
        src: String,
        src_lines: u64,
        tgt: String,
        tgt_lines: u64,
    },
    #[error("{file}, line {line}: no tab; write the source, one tab, the target")]
    NoTab { file: String, line: u64 },
    #[error(
        "{file}, line {line}: {columns} columns; keep source and target only, for example with `cut -f 1,2`"
    )]
    ExtraColumns {
        file: String,
        line: u64,
        columns: usize,
    },
    #[error("{file} is empty; give at least one pair of lines")]
    Empty { file: String },
    #[error(
        "pair {pair} of {file} has an empty {side}; correct the files, or set `data.empty` to `drop`"
    )]
    EmptySide {
        file: String,
        /// Number of the pair, from 1: that of its line.
        pair: u64,
        /// The side that is blank: `source` or `target`.
        side: &'static str,
    },
    #[error(
        "no validation pair of corpus {number} of `data.corpora` passes the filters; check its `valid_src` and \
         `valid_tgt`, or `valid_tsv`, or raise `data.max_len`"
    )]
    NothingToValidate {
        /// The number of the corpus, from 1.
        number: usize,
    },
    #[error(
        "no pair of {file} is left: {summary}; check the files, and `max_len` and the other filters in `[data]`"
    )]
    NothingKept {
        file: String,
        summary: Box<CorpusSummary>,
    },
    #[error("{file} has only one pair, so none can be held out; give validation files")]
    TooFewToHoldOut { file: String },
    #[error(
        "the token store `{path}`: {source}; check the disk, or delete its folder to have it built again"
    )]
    Store { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`: {source}; check that the folder exists and the disk has space")]
    Write { path: PathBuf, source: io::Error },
    /// A file of the token store cannot be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The settings of `[data]` are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A tokenizer cannot be trained on the text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error("there are no sentences to plan; give a corpus with at least one pair")]
    NoSentences,
    #[error("{n_sentences} sentences are more than a plan supports (4,294,967,295); use fewer")]
    TooManySentences { n_sentences: usize },
    #[error(
        "with these weights a pass has about {n_drawn:.1} sentences; choose weights that make it 1 to 4,294,967,295"
    )]
    Weights {
        /// Mean number of sentences per pass.
        n_drawn: f64,
    },
    #[error("`window` is 0; choose at least 1, for example 131072")]
    ZeroWindow,
    #[error(
        "sentence {sentence} alone has {n_tokens} tokens, more than `tokens_per_batch` ({tokens_per_batch}); raise \
         `tokens_per_batch` to at least {n_tokens}, or lower `max_len`"
    )]
    OverBudget {
        /// Index of the sentence, from 0, in the given lengths.
        sentence: usize,
        /// Tokens of its longer side, the end token included.
        n_tokens: u64,
        tokens_per_batch: usize,
    },
    #[error("stopped while reading the text; nothing is lost")]
    Interrupted,
    #[error("source and target are both `-`; only one of them can be standard input")]
    StandardInputTwice,
}

impl CorpusError {
    /// Returns a function that converts an I/O error of writing `path` to [`CorpusError::Write`].
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}
