//! Lines of a command's input files.

use std::io;
use std::path::Path;

use transformer_core::lines::{LineReader, STANDARD_INPUT};

use super::CommandError;

/// Reads all lines of a file, plain or gzip; `-` is standard input.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<String>, CommandError> {
    let lines: Result<Vec<String>, _> = match path == Path::new("-") {
        true => LineReader::new(STANDARD_INPUT, io::stdin().lock())?.collect(),
        false => LineReader::open(path)?.collect(),
    };
    Ok(lines?)
}

/// Replaces line ends in a translation by spaces, so that it is written as one line.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
