//! Tests of the reader of lines.

use std::io::{self, Cursor, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::lines::*;
use super::unpacked::BUFFER_BYTES;

fn read(bytes: &[u8]) -> Vec<String> {
    let lines = LineReader::new("text", bytes).expect("memory can be read");
    lines.map(|line| line.expect("it is UTF-8")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory is writable");
    gzip.finish().expect("memory is writable")
}

/// Returns the first error.
fn error(bytes: &[u8]) -> LineError {
    let mut lines = LineReader::new("text", bytes).expect("memory can be read");
    let error = lines.find_map(Result::err);
    error.expect("a line cannot be read")
}

#[test]
fn only_newlines_end_lines() {
    assert_eq!(
        read("a\u{2028}b\r\n\n\u{85}c\rd".as_bytes()),
        ["a\u{2028}b", "", "\u{85}c\rd"]
    );
}

#[test]
fn the_last_line_may_lack_its_end() {
    assert_eq!(read(b"a\nb"), ["a", "b"]);
    assert_eq!(read(b"a\nb\n"), ["a", "b"]);
    assert_eq!(read(b"\x1f"), ["\x1f"]);
    assert!(read(b"").is_empty());
}

#[test]
fn a_byte_order_mark_is_skipped_before_the_first_line_only() {
    let text = "\u{feff}a\n\u{feff}b".as_bytes();
    assert_eq!(read(text), ["a", "\u{feff}b"]);
    assert_eq!(read(&gzip(text)), ["a", "\u{feff}b"]);
}

#[test]
fn several_gzip_members_are_one_text() {
    assert_eq!(read(&[gzip(b"a\n"), gzip(b"b\n")].concat()), ["a", "b"]);
}

#[test]
fn anything_else_after_gzip_data_is_told_apart_from_truncation() {
    for garbage in [
        &b"x"[..],
        b"garbage\n",
        b"much more than the header of a member",
        &[0; 512],
    ] {
        let mut lines = LineReader::new("file", Cursor::new([&gzip(b"a\n"), garbage].concat()))
            .expect("memory is readable");
        assert_eq!(lines.next_line().ok(), Some(Some("a")));
        let message = lines.next_line().expect_err("there is garbage").to_string();
        assert_eq!(
            message,
            "file is damaged after line 1: there is something else after the end of the gzip data; check it with \
             `gzip -t`, copy it again"
        );
    }
}

#[test]
fn truncated_and_damaged_gzip_are_told_apart() {
    let whole = gzip(b"a line\nanother\n");
    let truncated = error(&whole[..whole.len() - 9]);
    assert!(
        matches!(truncated, LineError::GzipTruncated { .. }),
        "{truncated}"
    );
    let mut damaged = whole;
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let damaged = error(&damaged);
    assert!(
        matches!(damaged, LineError::GzipDamaged { .. }),
        "{damaged}"
    );
}

#[test]
fn an_error_names_its_cause_in_its_message_alone() {
    let error = LineReader::open(Path::new("no/such/file")).expect_err("it is missing");
    let LineError::Open { error: cause, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        error.to_string(),
        format!("cannot open `no/such/file`: {cause}; check the path")
    );
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn an_invalid_byte_is_reported_by_line_and_byte_of_the_line() {
    assert_eq!(
        error(b"ok\nab\xff").to_string(),
        "text, line 2: byte 3 of the line is not UTF-8; convert the file, for example with \
         `iconv -f LATIN1 -t UTF-8` if that is its encoding"
    );
    let marked = error(&["\u{feff}a".as_bytes(), b"\xff"].concat());
    assert!(matches!(marked, LineError::NotUtf8 { byte: 5, .. }));
}

#[test]
fn other_compressed_files_and_encodings_are_named() {
    for (start, name) in [
        (&b"BZh91AY&SY\xff"[..], "bunzip2"),
        (b"\xff\xfea", "UTF-16"),
    ] {
        let message = error(start).to_string();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn a_longer_line_than_the_limit_is_an_error_and_the_next_line_follows() -> Result<(), LineError> {
    for text in [
        "abc\nabcd\n\nabcdefghi\nd\n",
        "abc\r\nabcd\r\n\nabcdefghi\nd\r\n",
    ] {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let lines = LineReader::new("text", &bytes[..])?.with_max_bytes(3, "split it");
            let lines: Vec<String> = lines
                .map(|line| line.unwrap_or_else(|error| error.to_string()))
                .collect();
            let long = |line| {
                format!("text, line {line} has more than 3 bytes, the limit of a line; split it")
            };
            assert_eq!(lines, ["abc", &long(2), "", &long(4), "d"]);
        }
    }
    Ok(())
}

#[test]
fn the_limit_does_not_include_the_byte_order_mark() -> Result<(), LineError> {
    let marked = "\u{feff}abc\r\n".as_bytes();
    let mut lines = LineReader::new("text", marked)?.with_max_bytes(3, "split it");
    assert_eq!(lines.next_line()?, Some("abc"));
    let mut lines = LineReader::new("text", marked)?.with_max_bytes(2, "split it");
    assert!(matches!(lines.next_line(), Err(LineError::TooLong { .. })));
    assert_eq!(lines.next_line()?, None);
    Ok(())
}

#[test]
fn an_endless_line_takes_no_more_memory_than_the_limit() -> Result<(), LineError> {
    let mut lines = LineReader::new("zeros", io::repeat(0))?;
    assert!(matches!(lines.next_line(), Err(LineError::TooLong { .. })));
    assert!(lines.line.capacity() <= 2 * MAX_LINE_BYTES + 16);
    Ok(())
}

#[test]
fn lines_of_any_size_are_counted_without_being_stored() -> Result<(), LineError> {
    let text = [
        vec![b'a'; 3 * BUFFER_BYTES],
        b"\n\nb\n".to_vec(),
        vec![b'c'; BUFFER_BYTES],
    ];
    let text = text.concat();
    let mut lines = LineReader::new("text", &text[..])?.with_max_bytes(9, "split it");
    assert_eq!(lines.count_all()?, 4);
    assert_eq!(lines.line.capacity(), 0);
    let mut lines = LineReader::new("text", &text[..])?.with_max_bytes(9, "split it");
    assert!(lines.next_line().is_err());
    assert_eq!(lines.count_all()?, 4);
    Ok(())
}

#[test]
fn lines_can_be_read_as_bytes_and_counted() -> Result<(), LineError> {
    let mut lines = LineReader::new("text", &b"a\xff\r\nb\nc"[..])?;
    assert_eq!(lines.next_bytes()?, Some(&b"a\xff"[..]));
    assert_eq!((lines.n_read(), lines.count_all()?), (1, 3));
    assert_eq!(lines.next_bytes()?, None);
    Ok(())
}
