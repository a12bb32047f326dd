//! Lines of a command's input, of limited size; parallel files: translations and references, or sources and targets, line
//! by line.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use transformer_core::lines::{LineError, LineReader, MAX_LINE_BYTES, STANDARD_INPUT};

use super::{CommandError, at_least_one};

/// Size of the lines that are processed together, in bytes.
pub(crate) const BYTES_AT_ONCE: usize = 1 << 22;

const REMEDY: &str = "check that it is a text file, and split the line, or raise --max-line-bytes";

pub(crate) type Lines = LineReader<Box<dyn Read + Send>>;

/// The flag of commands that read lines.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LineFlags {
    /// Maximum length of a line of a file or of standard input, in bytes; a longer one is an error that names it.
    #[arg(long, value_name = "N", default_value_t = MAX_LINE_BYTES, value_parser = at_least_one())]
    max_line_bytes: usize,
}

impl LineFlags {
    /// Opens a file, plain or gzip; `-` is standard input.
    pub(crate) fn open(self, path: &Path) -> Result<Lines, LineError> {
        if path == Path::new("-") {
            return self.read(STANDARD_INPUT.to_owned(), Box::new(io::stdin()));
        }
        let name = format!("`{}`", path.display());
        match File::open(path) {
            Ok(file) => self.read(name, Box::new(file)),
            Err(error) => Err(LineError::Open { name, error }),
        }
    }

    fn read(self, name: String, input: Box<dyn Read + Send>) -> Result<Lines, LineError> {
        Ok(LineReader::new(name, input)?.with_max_bytes(self.max_line_bytes, REMEDY))
    }
}

/// Reads at most `most` lines, fewer if they are long or one is unreadable, which is the error; none at the end.
pub(crate) fn next_lines(lines: &mut Lines, most: usize) -> (Vec<String>, Option<LineError>) {
    let mut read: Vec<String> = Vec::new();
    let mut n_bytes = 0;
    while read.len() < most && n_bytes < BYTES_AT_ONCE {
        match lines.next_line() {
            Ok(Some(line)) => {
                n_bytes += line.len();
                read.push(line.to_owned());
            }
            Ok(None) => break,
            Err(failure) => return (read, Some(failure)),
        }
    }
    (read, None)
}

/// Replaces line ends in a translation by spaces, so that it is written as one line.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

pub(crate) type Row = Vec<String>;

/// Files with the same number of lines, read row by row.
pub(crate) struct ParallelLines {
    paths: Vec<PathBuf>,
    files: Vec<Lines>,
    counterpart: &'static str,
}

impl ParallelLines {
    pub(crate) fn open(
        paths: &[&Path],
        counterpart: &'static str,
        flags: LineFlags,
    ) -> Result<Self, CommandError> {
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(CommandError::StandardInputTwice);
        }
        let files: Result<Vec<Lines>, _> = paths.iter().map(|path| flags.open(path)).collect();
        Ok(Self {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            files: files?,
            counterpart,
        })
    }

    /// Opens the files, and reads them once if all are regular files, so that their errors are found before a model is
    /// loaded. Also returns the number of rows, if known.
    pub(crate) fn open_checked(
        paths: &[&Path],
        counterpart: &'static str,
        flags: LineFlags,
    ) -> Result<(Self, Option<usize>), CommandError> {
        let mut rows = Self::open(paths, counterpart, flags)?;
        if !paths.iter().all(|path| path.is_file() && !is_stdin(path)) {
            return Ok((rows, None));
        }
        let mut n_rows = 0;
        while rows.next_row()?.is_some() {
            n_rows += 1;
        }
        Ok((Self::open(paths, counterpart, flags)?, Some(n_rows)))
    }

    /// Reads the next row; `None` at the end of all files.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row>, CommandError> {
        let mut row = Row::with_capacity(self.files.len());
        for file in &mut self.files {
            row.extend(file.next_line()?.map(str::to_owned));
        }
        match row.len() {
            0 => Ok(None),
            n_lines if n_lines == self.files.len() => Ok(Some(row)),
            _ => Err(self.different_counts()?),
        }
    }

    /// Reads the next rows: at most `most`, and fewer if their lines are long. The list is empty at the end.
    pub(crate) fn next_rows(&mut self, most: usize) -> Result<Vec<Row>, CommandError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut n_bytes = 0;
        while rows.len() < most
            && n_bytes < BYTES_AT_ONCE
            && let Some(row) = self.next_row()?
        {
            n_bytes += row.iter().map(String::len).sum::<usize>();
            rows.push(row);
        }
        Ok(rows)
    }

    /// Reads all files to the end, and returns the error of the first one with another number of lines than the first.
    fn different_counts(&mut self) -> Result<CommandError, CommandError> {
        let counts: Result<Vec<u64>, _> = self.files.iter_mut().map(Lines::count_all).collect();
        let counts = counts?;
        let other = counts.iter().position(|count| *count != counts[0]);
        let other = other.unwrap_or_default();
        Ok(CommandError::LineCounts {
            first: self.paths[0].clone(),
            n_first: counts[0],
            other: self.paths[other].clone(),
            n_other: counts[other],
            counterpart: self.counterpart,
        })
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
