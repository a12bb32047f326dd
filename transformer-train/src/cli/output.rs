//! Standard output.

use std::io::{self, Write};

/// Prints a line. An output that is closed does not end the training.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
