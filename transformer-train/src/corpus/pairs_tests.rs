//! Tests of reading pairs.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use transformer_core::lines::LineError;
use transformer_core::random::hash;

use crate::config::{Copies, CorpusSource, DataSettings, LineLimit, LongLines, TaggedCorpus, Tags};
use crate::corpus::{ParallelText, encode};
use crate::error::TrainError;

type Read = Result<Vec<(String, String)>, TrainError>;

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
    ParallelText::open(&source, LineLimit::default())?
        .pairs()?
        .collect()
}

fn read_tsv(bytes: &[u8]) -> Read {
    let dir = TempDir::new().expect("there is a folder for temporary files");
    let source = CorpusSource::Tsv {
        path: write(&dir, "pairs.tsv", bytes),
    };
    ParallelText::open(&source, LineLimit::default())?
        .pairs()?
        .collect()
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
        matches!(read, Err(TrainError::Line(LineError::GzipTruncated { line, .. })) if line > 1000)
    );
}

#[test]
fn damaged_gzip_is_an_error() {
    let mut gzipped = gzip(b"a line\nanother\n");
    let checksum = gzipped.len() - 8;
    gzipped[checksum] ^= 1;
    let read = read_files(&gzipped, b"1\n2\n");
    assert!(
        matches!(read, Err(TrainError::Line(LineError::GzipDamaged { .. }))),
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
fn a_line_above_the_limit_is_refused_or_its_pair_is_dropped() -> Result<(), TrainError> {
    let dir = TempDir::new().expect("there is a folder for temporary files");
    let files = CorpusSource::Files {
        src: write(&dir, "a", b"abc\nabcd\ne\nf\n"),
        tgt: write(&dir, "b", &gzip(b"1\n2\n3456\n789\n")),
    };
    let path = write(&dir, "t", b"a\t1\nab\t34\n\xff\xff\xff\xff\nf\t7\n");
    let tsv = CorpusSource::Tsv { path };
    let refuse = LineLimit {
        max_bytes: 3,
        ..LineLimit::default()
    };
    let read = |limit| ParallelText::open(&files, limit)?.pairs()?.collect();
    assert_eq!(
        message(read(refuse)),
        "`a`, line 2 has more than 3 bytes, the limit of a line; check that it is a text file, and \
         split the line, raise `data.max_line_bytes`, or set `data.long_lines` to `drop`"
    );
    let drop = LineLimit {
        long_lines: LongLines::Drop,
        ..refuse
    };
    for (source, kept) in [
        (&files, [pair("abc", "1"), pair("f", "789")]),
        (&tsv, [pair("a", "1"), pair("f", "7")]),
    ] {
        let mut pairs = ParallelText::open(source, drop)?.pairs()?;
        assert_eq!(pairs.by_ref().collect::<Result<Vec<_>, _>>()?, kept);
        assert_eq!((pairs.n_read(), pairs.n_long()), (4, 2));
    }
    let both = ParallelText::open_all(&[files, tsv].map(untagged), drop)?;
    let mut pairs = both.pairs()?;
    assert_eq!((pairs.by_ref().count(), pairs.n_long()), (4, 4));
    Ok(())
}

#[test]
fn nothing_follows_an_error() {
    let dir = TempDir::new().expect("there is a folder for temporary files");
    let source = CorpusSource::Tsv {
        path: write(&dir, "t", b"no tab\na\t1\n"),
    };
    let text = ParallelText::open(&source, LineLimit::default()).expect("it exists");
    assert_eq!(text.pairs().expect("it exists").count(), 1);
}

fn untagged(source: CorpusSource) -> TaggedCorpus {
    TaggedCorpus {
        source,
        tags: Tags::default(),
    }
}

/// Returns two pairs, one of them with a blank source, with tags in front of them.
fn tagged(src: Option<&str>, tgt: Option<&str>) -> ParallelText {
    let pairs = [("a b", "a b"), (" ", "c")];
    let pairs = pairs.map(|(src, tgt)| (src.to_owned(), tgt.to_owned()));
    ParallelText::from_pairs(pairs.to_vec()).tagged(&Tags {
        src: src.map(str::to_owned),
        tgt: tgt.map(str::to_owned),
    })
}

#[test]
fn tags_are_in_front_of_every_line_that_is_not_blank() -> Result<(), TrainError> {
    let read: Vec<(String, String)> = tagged(Some("<x>"), Some("<y>"))
        .pairs()?
        .collect::<Read>()?;
    let expected = [("<x> a b", "<y> a b"), (" ", "<y> c")];
    let expected = expected.map(|(src, tgt)| (src.to_owned(), tgt.to_owned()));
    assert_eq!(read, expected);
    Ok(())
}

#[test]
fn a_copy_is_found_behind_its_tags() {
    let filter = DataSettings {
        copies: Copies::Drop,
        ..DataSettings::default()
    };
    let ids = |lines: &[String]| lines.iter().map(|line| vec![5; line.len()]).collect();
    let encoded = encode(&tagged(Some("<x>"), None), &filter, 10, ids, ids);
    let Err(TrainError::NothingKept { summary, .. }) = encoded else {
        panic!("both pairs are dropped");
    };
    assert_eq!((summary.copies_dropped, summary.empty_src), (1, 1));
}
