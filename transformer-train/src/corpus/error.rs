//! What can be wrong with parallel text, said in one line with file, line and remedy.

use std::io;
use std::path::{Path, PathBuf};

use transformer_core::directory::DirectoryError;
use transformer_core::text::TokenizerError;

use crate::config::ConfigError;
use crate::corpus::CorpusSummary;

/// Says why parallel text cannot be read. Lines and bytes are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file cannot be opened.
    #[error("cannot open {file}: {source}; check the path")]
    Open {
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file opens but cannot be read to its end.
    #[error("cannot read {file} after line {line}: {source}; check the disk and the file")]
    Read {
        /// The file.
        file: String,
        /// Number of lines read before.
        line: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A line is not UTF-8.
    #[error("{file} line {line}: byte {byte} of the line is not valid UTF-8; {remedy}")]
    NotUtf8 {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The first byte of the line that is wrong.
        byte: usize,
        /// What makes it text.
        remedy: &'static str,
    },
    /// A gzip file ends before its end.
    #[error("{file} is cut off after line {line}: its gzip data has no end; copy it again")]
    GzipTruncated {
        /// The file.
        file: String,
        /// Number of lines read before.
        line: u64,
    },
    /// A gzip file does not unpack.
    #[error(
        "{file} is damaged after line {line}: {source}; check it with `gzip -t`, copy it again"
    )]
    GzipDamaged {
        /// The file.
        file: String,
        /// Number of lines read before.
        line: u64,
        /// What the decoder said.
        #[source]
        source: io::Error,
    },
    /// The two files are not parallel.
    #[error(
        "{src} has {src_lines} lines but {tgt} has {tgt_lines}; line n of one must be the \
         translation of line n of the other"
    )]
    LineCounts {
        /// The source file.
        src: String,
        /// Its number of lines.
        src_lines: u64,
        /// The target file.
        tgt: String,
        /// Its number of lines.
        tgt_lines: u64,
    },
    /// A line of a table of pairs has no tab.
    #[error("{file} line {line} has no tab; write the source, one tab, the target")]
    NoTab {
        /// The file.
        file: String,
        /// The line.
        line: u64,
    },
    /// A line of a table of pairs has more than two columns.
    #[error(
        "{file} line {line} has {columns} columns; keep source and target only, for example with \
         `cut -f 1,2`"
    )]
    ExtraColumns {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// Number of columns found.
        columns: usize,
    },
    /// There is not one line.
    #[error("{file} is empty; give at least one pair of lines")]
    Empty {
        /// The file, or both.
        file: String,
    },
    /// A line is blank, and that is not allowed.
    #[error(
        "pair {pair} of {file} has an empty {side}; correct the files, or set `data.empty` to `drop`"
    )]
    EmptySide {
        /// The file, or both.
        file: String,
        /// The number of the pair, from 1: that of its lines.
        pair: u64,
        /// Which of the two it is.
        side: &'static str,
    },
    /// No line is left after filtering.
    #[error(
        "no pair of {file} is left: {summary}; look at the files, or at `max_len` and what else `[data]` leaves out"
    )]
    NothingKept {
        /// The file, or both.
        file: String,
        /// Where they went.
        summary: Box<CorpusSummary>,
    },
    /// Validation pairs were to be taken from a corpus that is too small.
    #[error("{file} has one pair only, none can be held out; give validation files")]
    TooFewToHoldOut {
        /// The file, or both.
        file: String,
    },
    /// The token store on disk cannot be read or written.
    #[error(
        "the token store `{}`: {source}; check the disk, or delete its folder, and it is made anew",
        path.display()
    )]
    Store {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
    /// A file or folder of the token store cannot be written.
    #[error("cannot write `{}`: {source}; check that the folder exists and has room", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file of the token store cannot be put in its place.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The settings do not name the text.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A tokenizer cannot be trained on the text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The run was to end before the text was read.
    #[error("stopped while reading the text; nothing is lost")]
    Interrupted,
    /// Both sides were to come from standard input.
    #[error("`-` is given for source and target; only one of them can be standard input")]
    StandardInputTwice,
}

impl CorpusError {
    /// Returns a function that turns an I/O error of writing `path` into [`CorpusError::Write`].
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}
