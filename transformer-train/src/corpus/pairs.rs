//! [`Pairs`]: iterates over the pairs of a corpus.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::corpus::CorpusError;
use crate::corpus::input::Lines;
use crate::progress::Phase;

/// Number of pairs from one progress report to the next.
const REPORT_INTERVAL: u64 = 1024;

/// The source of pairs.
pub(super) enum PairSource {
    /// A file for each side.
    Files { src: Lines, tgt: Lines },
    /// One file with two columns.
    Tsv(Lines),
    /// A list in memory.
    Memory {
        pairs: Arc<[(String, String)]>,
        next: usize,
    },
    /// Several corpora, one after the other.
    Corpora { corpora: Vec<Pairs>, current: usize },
}

/// The progress report of reading.
pub(super) struct Reading {
    pub(super) phase: Phase,
    /// Number of all pairs, which is known after they have been read once.
    pub(super) n_pairs: Arc<OnceLock<u64>>,
}

/// Iterates over pairs of source and target, in the order of the files. Only one pair is in memory.
///
/// The iterator ends after the first error.
pub struct Pairs {
    name: String,
    source: PairSource,
    /// Indices of the pairs to skip, ascending.
    held_out: Arc<[u64]>,
    n_held_out: usize,
    n_read: u64,
    ended: bool,
    reading: Option<Reading>,
}

impl Pairs {
    pub(super) fn new(
        name: String,
        source: PairSource,
        held_out: Arc<[u64]>,
        reading: Option<Reading>,
    ) -> Self {
        Self {
            name,
            source,
            held_out,
            n_held_out: 0,
            n_read: 0,
            ended: false,
            reading,
        }
    }

    /// Returns the number of pairs read so far, held-out ones included.
    pub(crate) fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Returns the index of the corpus of the last pair; 0 if there is only one corpus.
    pub(super) fn corpus(&self) -> usize {
        match &self.source {
            PairSource::Corpora { current, .. } => *current,
            _ => 0,
        }
    }

    /// Reads the next pair, held out or not.
    fn read(&mut self) -> Result<Option<(String, String)>, CorpusError> {
        match &mut self.source {
            PairSource::Files { src, tgt } => read_files(src, tgt),
            PairSource::Tsv(lines) => read_tsv(lines),
            PairSource::Memory { pairs, next } => {
                let pair = pairs.get(*next).cloned();
                *next += 1;
                Ok(pair)
            }
            PairSource::Corpora { corpora, current } => {
                while let Some(pairs) = corpora.get_mut(*current) {
                    if let Some(pair) = pairs.next() {
                        return pair.map(Some);
                    }
                    *current += 1;
                }
                Ok(None)
            }
        }
    }

    /// Reports progress, and returns whether the user has stopped the run.
    fn is_interrupted(&mut self) -> bool {
        let Some(Reading { phase, n_pairs }) = &mut self.reading else {
            return false;
        };
        self.n_read.is_multiple_of(REPORT_INTERVAL)
            && phase.pairs(self.n_read, n_pairs.get().copied()).is_break()
    }

    /// Reads the next pair that is not held out.
    fn next_kept(&mut self) -> Result<Option<(String, String)>, CorpusError> {
        while let Some(pair) = self.read()? {
            let index = self.n_read;
            self.n_read += 1;
            if self.held_out.get(self.n_held_out) == Some(&index) {
                self.n_held_out += 1;
            } else {
                return Ok(Some(pair));
            }
        }
        match self.n_read {
            0 => Err(CorpusError::Empty {
                file: self.name.clone(),
            }),
            _ => Ok(None),
        }
    }
}

impl Iterator for Pairs {
    type Item = Result<(String, String), CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let pair = match self.is_interrupted() {
            true => Some(Err(CorpusError::Interrupted)),
            false => self.next_kept().transpose(),
        };
        self.ended = !matches!(pair, Some(Ok(_)));
        if let (None, Some(reading)) = (&pair, &self.reading) {
            reading.n_pairs.get_or_init(|| self.n_read);
        }
        pair
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("name", &self.name)
            .field("n_read", &self.n_read)
            .finish_non_exhaustive()
    }
}

fn read_files(src: &mut Lines, tgt: &mut Lines) -> Result<Option<(String, String)>, CorpusError> {
    let src_line = src.next_line()?.map(str::to_owned);
    let tgt_line = tgt.next_line()?.map(str::to_owned);
    match (src_line, tgt_line) {
        (Some(src_line), Some(tgt_line)) => Ok(Some((src_line, tgt_line))),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(CorpusError::LineCounts {
            src_lines: src.count_all()?,
            tgt_lines: tgt.count_all()?,
            src: src.name().to_owned(),
            tgt: tgt.name().to_owned(),
        }),
    }
}

fn read_tsv(lines: &mut Lines) -> Result<Option<(String, String)>, CorpusError> {
    let Some(line) = lines.next_line()? else {
        return Ok(None);
    };
    let columns = line.split('\t').count();
    if let (2, Some((src, tgt))) = (columns, line.split_once('\t')) {
        return Ok(Some((src.to_owned(), tgt.to_owned())));
    }
    let (file, line) = (lines.name().to_owned(), lines.n_read());
    Err(match columns {
        1 => CorpusError::NoTab { file, line },
        _ => CorpusError::ExtraColumns {
            file,
            line,
            columns,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use super::*;
    use crate::config::CorpusSource;
    use crate::corpus::ParallelText;
    use transformer_core::lines::LineError;
    use transformer_core::random::hash;

    type Read = Result<Vec<(String, String)>, CorpusError>;

    fn write(dir: &TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("the folder can be written");
        path
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory can be written");
        encoder.finish().expect("memory can be written")
    }

    /// Reads the pairs of two files.
    fn read_files(src: &[u8], tgt: &[u8]) -> Read {
        let dir = TempDir::new().expect("there is a folder for temporary files");
        let source = CorpusSource::Files {
            src: write(&dir, "a", src),
            tgt: write(&dir, "b", tgt),
        };
        ParallelText::open(&source)?.pairs()?.collect()
    }

    fn read_tsv(bytes: &[u8]) -> Read {
        let dir = TempDir::new().expect("there is a folder for temporary files");
        let source = CorpusSource::Tsv {
            path: write(&dir, "pairs.tsv", bytes),
        };
        ParallelText::open(&source)?.pairs()?.collect()
    }

    /// Returns the message of an error, without the path of the temporary folder.
    fn message(read: Read) -> String {
        let message = read.expect_err("the files are invalid").to_string();
        let folder = std::env::temp_dir();
        let mut shown = String::new();
        for part in message.split('`') {
            let name = match part.starts_with(&*folder.to_string_lossy()) {
                true => part.rsplit('/').next().unwrap_or(part),
                false => part,
            };
            shown.push_str(name);
            shown.push('`');
        }
        shown.pop();
        shown
    }

    fn pair(src: &str, tgt: &str) -> (String, String) {
        (src.to_owned(), tgt.to_owned())
    }

    #[test]
    fn lines_end_at_line_feeds_and_one_carriage_return_is_removed() {
        let read = read_files(
            b"a\r\nb\r\r\n\nc",
            "1\n2\u{2028}x\u{85}y\n3\n4\n".as_bytes(),
        );
        let expected = [
            ("a", "1"),
            ("b\r", "2\u{2028}x\u{85}y"),
            ("", "3"),
            ("c", "4"),
        ]
        .map(|(s, t)| pair(s, t));
        assert_eq!(read.expect("both have four lines"), expected);
    }

    #[test]
    fn byte_order_marks_are_removed_only_at_the_start() {
        let read = read_files("\u{feff}a\n\u{feff}b".as_bytes(), "\u{feff}1\n2".as_bytes());
        assert_eq!(
            read.expect("two lines"),
            [pair("a", "1"), pair("\u{feff}b", "2")]
        );
    }

    #[test]
    fn gzip_is_recognized_by_its_content_and_may_have_several_members() {
        let gzipped = [gzip(b"a\n"), gzip(b"b\n")].concat();
        let read = read_files(&gzipped, b"1\n2\n");
        assert_eq!(read.expect("two lines"), [pair("a", "1"), pair("b", "2")]);
    }

    #[test]
    fn truncated_gzip_is_an_error() {
        let text: String = (0..5000)
            .map(|i| format!("line {}\n", hash(1, i)))
            .collect();
        let gzipped = gzip(text.as_bytes());
        let read = read_files(&gzipped[..gzipped.len() - 20], text.as_bytes());
        assert!(
            matches!(read, Err(CorpusError::Line(LineError::GzipTruncated { line, .. })) if line > 1000)
        );
    }

    #[test]
    fn damaged_gzip_is_an_error() {
        let mut gzipped = gzip(b"a line\nanother\n");
        let checksum = gzipped.len() - 8;
        gzipped[checksum] ^= 1;
        let read = read_files(&gzipped, b"1\n2\n");
        assert!(
            matches!(read, Err(CorpusError::Line(LineError::GzipDamaged { .. }))),
            "{read:?}"
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error() {
        assert_eq!(
            message(read_files(b"a\nna\xefve\n", b"1\n2\n")),
            "`a`, line 2: byte 3 of the line is not UTF-8; convert the file, for example with `iconv -f \
             LATIN1 -t UTF-8` if that is its encoding"
        );
    }

    #[test]
    fn files_of_different_lengths_are_counted_to_the_end() {
        assert_eq!(
            message(read_files(b"a\n", b"1\n2\n3\n")),
            "`a` has 1 lines but `b` has 3; line n of one must be the translation of line n of the other"
        );
    }

    #[test]
    fn a_missing_tab_is_an_error() {
        assert_eq!(
            message(read_tsv(b"a\t1\nb 2\n")),
            "`pairs.tsv`, line 2: no tab; write the source, one tab, the target"
        );
    }

    #[test]
    fn a_third_column_is_an_error() {
        assert_eq!(
            message(read_tsv(b"a\t1\textra\n")),
            "`pairs.tsv`, line 1: 3 columns; keep source and target only, for example with `cut -f 1,2`"
        );
    }

    #[test]
    fn tsv_files_have_two_columns() {
        assert_eq!(
            read_tsv(b"a b\t1\n\t2").expect("two"),
            [pair("a b", "1"), pair("", "2")]
        );
    }

    #[test]
    fn empty_files_are_an_error() {
        assert_eq!(
            message(read_tsv(b"")),
            "`pairs.tsv` is empty; give at least one pair of lines"
        );
    }

    #[test]
    fn nothing_follows_an_error() {
        let dir = TempDir::new().expect("there is a folder for temporary files");
        let source = CorpusSource::Tsv {
            path: write(&dir, "t", b"no tab\na\t1\n"),
        };
        let text = ParallelText::open(&source).expect("it exists");
        assert_eq!(text.pairs().expect("it exists").count(), 1);
    }
}
