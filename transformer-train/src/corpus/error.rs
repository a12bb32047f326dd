//! [`CorpusError`]: the errors of parallel text, each in one line with file, line and remedy.

use std::io;
use std::path::{Path, PathBuf};

use transformer_core::directory::DirectoryError;
use transformer_core::lines::LineError;
use transformer_core::text::TokenizerError;

use crate::config::ConfigError;
use crate::corpus::CorpusSummary;

/// Error of reading or storing parallel text. Lines and bytes are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum CorpusError {
    /// A file cannot be opened, read or decoded.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The two files have different numbers of lines.
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
    /// A line of a TSV file has no tab.
    #[error("{file}, line {line}: no tab; write the source, one tab, the target")]
    NoTab { file: String, line: u64 },
    /// A line of a TSV file has more than two columns.
    #[error(
        "{file}, line {line}: {columns} columns; keep source and target only, for example with `cut -f 1,2`"
    )]
    ExtraColumns {
        file: String,
        line: u64,
        columns: usize,
    },
    /// A file has no lines.
    #[error("{file} is empty; give at least one pair of lines")]
    Empty { file: String },
    /// A line is blank, and the settings refuse that.
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
    /// No validation pair of one of several corpora passes the filter.
    #[error(
        "no validation pair of corpus {number} of `data.corpora` passes the filters; check its `valid_src` and \
         `valid_tgt`, or `valid_tsv`, or raise `data.max_len`"
    )]
    NothingToValidate {
        /// The number of the corpus, from 1.
        number: usize,
    },
    /// The filter drops every pair.
    #[error(
        "no pair of {file} is left: {summary}; check the files, and `max_len` and the other filters in `[data]`"
    )]
    NothingKept {
        file: String,
        summary: Box<CorpusSummary>,
    },
    /// The corpus is too small to hold out validation pairs.
    #[error("{file} has only one pair, so none can be held out; give validation files")]
    TooFewToHoldOut { file: String },
    /// The token store on disk cannot be read or written.
    #[error(
        "the token store `{path}`: {source}; check the disk, or delete its folder to have it built again"
    )]
    Store { path: PathBuf, source: io::Error },
    /// A file or folder of the token store cannot be written.
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
    /// The user stopped the run while the text was read.
    #[error("stopped while reading the text; nothing is lost")]
    Interrupted,
    /// Both sides are standard input.
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
