//! A property of reading pairs of two columns: bytes in, pairs out, compared with a specification.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use transformer_core::lines::LineError;

use crate::config::{CorpusSource, LineLimit, LongLines};
use crate::corpus::ParallelText;
use crate::error::TrainError;

type Pairs = Vec<(String, String)>;

/// A fault in a text: the number of the first bad line, and the reason.
#[derive(Clone, Debug, PartialEq)]
enum Fault {
    Empty,
    NotUtf8 { line: u64, byte: usize },
    TooLong { line: u64 },
    NoTab { line: u64 },
    ExtraColumns { line: u64, columns: usize },
}

/// Limit of a line, in bytes.
const MAX_BYTES: usize = 24;

/// The specification: a byte order mark is skipped; `\n` ends a line, and one `\r` before it, or at
/// the end of the text, belongs to the line end; every line is UTF-8 with exactly one tab.
fn specified(bytes: &[u8], long_lines: LongLines) -> Result<Pairs, Fault> {
    let mark_len = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let text = &bytes[mark_len..];
    if bytes.is_empty() {
        return Err(Fault::Empty);
    }
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if lines.len() > 1 && lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let mut pairs = Pairs::new();
    for (line, content) in (1..).zip(lines) {
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() > MAX_BYTES {
            match long_lines {
                LongLines::Drop => continue,
                LongLines::Refuse => return Err(Fault::TooLong { line }),
            }
        }
        let content = match std::str::from_utf8(content) {
            Ok(content) => content,
            Err(error) => {
                let n_before = if line == 1 { mark_len } else { 0 };
                let byte = n_before + error.valid_up_to() + 1;
                return Err(Fault::NotUtf8 { line, byte });
            }
        };
        match content.split('\t').collect::<Vec<_>>()[..] {
            [src, tgt] => pairs.push((src.to_owned(), tgt.to_owned())),
            [_] => return Err(Fault::NoTab { line }),
            ref columns => {
                let columns = columns.len();
                return Err(Fault::ExtraColumns { line, columns });
            }
        }
    }
    Ok(pairs)
}

/// Reads a file with these bytes.
fn read(bytes: &[u8], long_lines: LongLines) -> Result<Pairs, Fault> {
    let mut file = tempfile::NamedTempFile::new().expect("the system has temporary files");
    file.write_all(bytes).expect("it is writable");
    let path = file.path().to_owned();
    let source = CorpusSource::Tsv { path };
    let limit = LineLimit {
        max_bytes: MAX_BYTES,
        long_lines,
    };
    let text = ParallelText::open(&source, limit);
    let read: Result<Pairs, TrainError> = text.and_then(|text| text.pairs()?.collect());
    read.map_err(|error| match error {
        TrainError::EmptyFile { .. } => Fault::Empty,
        TrainError::Line(LineError::NotUtf8 { line, byte, .. }) => Fault::NotUtf8 { line, byte },
        TrainError::Line(LineError::TooLong { line, .. }) => Fault::TooLong { line },
        TrainError::NoTab { line, .. } => Fault::NoTab { line },
        TrainError::ExtraColumns { line, columns, .. } => Fault::ExtraColumns { line, columns },
        other => panic!("{other}"),
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// Pieces of text, most of which are whole lines, so that many texts are valid.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-z ]{0,6}\t[a-zé語]{0,4}\r?\n".prop_map(String::into_bytes),
        1 => Just(b"\t\n".to_vec()),
        1 => Just(b"\t".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\0".to_vec()),
        1 => Just(b"\xef\xbb\xbf".to_vec()),
        1 => Just(b"\xff".to_vec()),
        1 => Just("\u{85}\u{2028}".as_bytes().to_vec()),
        1 => Just(b"a line that is too long\tfor the limit\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pairs_are_those_of_the_specification(
        bytes in text(),
        drops in any::<bool>(),
        is_packed in any::<bool>(),
    ) {
        let long_lines = if drops { LongLines::Drop } else { LongLines::Refuse };
        // Text that begins like gzip is read as gzip.
        prop_assume!(!bytes.starts_with(b"\x1f\x8b"));
        let expected = specified(&bytes, long_lines);
        let found = match is_packed {
            true => read(&gzip(&bytes), long_lines),
            false => read(&bytes, long_lines),
        };
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn sides_may_be_empty_and_have_every_character_but_tab_and_line_feed() {
    let bytes = "\u{feff}\0\t\n\ta\r\r\nb\u{2028}\t\u{feff}".as_bytes();
    let pair = |src: &str, tgt: &str| (src.to_owned(), tgt.to_owned());
    let expected = vec![
        pair("\0", ""),
        pair("", "a\r"),
        pair("b\u{2028}", "\u{feff}"),
    ];
    for bytes in [bytes.to_vec(), gzip(bytes)] {
        assert_eq!(read(&bytes, LongLines::Refuse), Ok(expected.clone()));
    }
}
