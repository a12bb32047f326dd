//! Lines of text from a stream.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::iter;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use transformer_infer::remedy_for_bytes;

use super::CommandError;

/// What errors call standard input.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// The first bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What some editors put before the text of a file. It is no text, and to a model an unknown word.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads lines that end with `\n`, or `\r\n`; no other character ends a line. A byte order mark before the first
/// is left out, as in training.
#[derive(Debug)]
struct Lines<R> {
    reader: R,
    /// What errors call the stream.
    name: String,
    n_read: usize,
    /// What to do if it is not UTF-8.
    remedy: Option<&'static str>,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R, name: String) -> Self {
        Self {
            reader,
            name,
            n_read: 0,
            remedy: None,
        }
    }
}

/// Reads all lines of a file, plain or gzip; `-` is standard input.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<String>, CommandError> {
    if path == Path::new("-") {
        return lines_of(io::stdin().lock(), STANDARD_INPUT).collect();
    }
    let name = format!("`{}`", path.display());
    match File::open(path) {
        Ok(file) => lines_of(BufReader::new(file), &name).collect(),
        Err(source) => Err(CommandError::Read { name, source }),
    }
}

/// Writes a translation as the one line that it is, whatever a tokenizer spells.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Reads the lines of a stream, plain or gzip, which errors call by this name.
pub(crate) fn lines_of<'a>(
    mut input: impl BufRead + 'a,
    name: &str,
) -> Box<dyn Iterator<Item = Result<String, CommandError>> + 'a> {
    let name = name.to_owned();
    match input.fill_buf() {
        Ok(start) if start.starts_with(&GZIP) => {
            let input = BufReader::new(MultiGzDecoder::new(input));
            Box::new(Lines::new(input, name))
        }
        Ok(_) => Box::new(Lines::new(input, name)),
        Err(source) => Box::new(iter::once(Err(CommandError::Read { name, source }))),
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<String, CommandError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        match self.reader.read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => self.n_read += 1,
            Err(source) => {
                let name = self.name.clone();
                return Some(Err(CommandError::Read { name, source }));
            }
        }
        let remedy = *self.remedy.get_or_insert_with(|| remedy_for_bytes(&bytes));
        let has_mark = self.n_read == 1 && bytes.starts_with(BYTE_ORDER_MARK);
        let n_left_out = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        bytes.drain(..n_left_out);
        if bytes.ends_with(b"\n") {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        Some(
            String::from_utf8(bytes).map_err(|error| CommandError::NotUtf8 {
                name: self.name.clone(),
                line: self.n_read,
                byte: n_left_out + error.utf8_error().valid_up_to() + 1,
                remedy,
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<String> {
        Lines::new(bytes, STANDARD_INPUT.to_owned())
            .map(|line| line.expect("the text is UTF-8"))
            .collect()
    }

    #[test]
    fn only_newlines_end_lines() {
        assert_eq!(
            read("a\u{2028}b\r\n\n\u{85}c\rd".as_bytes()),
            ["a\u{2028}b", "", "\u{85}c\rd"]
        );
    }

    #[test]
    fn a_missing_last_newline_loses_nothing() {
        assert_eq!(read(b"a\nb"), ["a", "b"]);
        assert_eq!(read(b"a\nb\n"), ["a", "b"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_text_before_the_first_line_alone() {
        let text = "\u{feff}a\n\u{feff}b".as_bytes();
        assert_eq!(read(text), ["a", "\u{feff}b"]);
    }

    #[test]
    fn a_stream_may_be_gzip() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all("\u{feff}a\nb\n".as_bytes())
            .expect("memory takes it");
        let bytes = gzip.finish().expect("memory takes it");
        let lines: Result<Vec<_>, _> = lines_of(&bytes[..], STANDARD_INPUT).collect();
        assert_eq!(lines.expect("the text is UTF-8"), ["a", "b"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_line_and_byte() {
        let error = Lines::new(&b"ok\nab\xff"[..], STANDARD_INPUT.to_owned())
            .nth(1)
            .expect("there is a second line");
        let message = error.expect_err("0xff is never UTF-8").to_string();
        assert!(
            message.starts_with("standard input, line 2: byte 3 is not UTF-8;"),
            "{message}"
        );
    }
}
