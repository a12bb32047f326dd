//! Lines of a command's input, of limited size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::Args;
use transformer_core::lines::{LineError, LineReader, MAX_LINE_BYTES, STANDARD_INPUT};

use super::at_least_one;

/// Size of the lines that are processed together, in bytes.
pub(crate) const BYTES_AT_ONCE: usize = 1 << 22;

/// Remedy for a line that is too long.
const REMEDY: &str = "check that it is a text file, and split the line, or raise --max-line-bytes";

/// Lines of a file or of standard input.
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

/// Reads the next lines: at most `most`, and fewer if they are long or one is unreadable, which is the error. The list
/// is empty at the end.
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
