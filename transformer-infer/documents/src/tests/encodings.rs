//! Files in the encodings that they declare.

use super::Copies;
use super::doubles::{LineTranslator, Writes, translate_document};
use crate::format::{Format, FormatOptions, ReadError};

fn translated(lines: &impl LineTranslator, page: &[u8]) -> Result<Vec<u8>, ReadError> {
    translated_as("html", lines, page)
}

fn translated_as(
    format: &str,
    lines: &impl LineTranslator,
    file: &[u8],
) -> Result<Vec<u8>, ReadError> {
    let input = std::io::Cursor::new(file.to_owned());
    let format: Format = format.parse().expect("it is a format");
    let parts = format.read("a".to_owned(), input, &FormatOptions::default())?;
    translate_document(lines, parts)
}

fn copied(page: &[u8]) -> Vec<u8> {
    translated(&Copies { most: 1000 }, page).expect("the page is read")
}

#[test]
fn a_translation_is_written_in_the_encoding_of_the_page() {
    let page = b"<META http-equiv=Content-Type content='text/html; charset=ISO-8859-1'><p title=\x93>caf\xe9</p>";
    let lines = Writes::new(|line| {
        assert_eq!(line.text, "café");
        "naïf “漢”".to_owned()
    });
    let written = translated(&lines, page).expect("the page is read");
    let expected = b"<META http-equiv=Content-Type content='text/html; charset=ISO-8859-1'><p title=\x93>na\xeff \x93&#28450;\x94</p>";
    assert_eq!(written, expected);
}

#[test]
fn pages_in_other_encodings_are_copied_byte_for_byte() {
    let all: Vec<u8> = (0x20..=0xff).filter(|byte| *byte != b'<').collect();
    let latin = [b"<meta charset=windows-1252><p>a ", all.as_slice(), b"</p>"].concat();
    assert_eq!(copied(&latin), latin);
    let japanese = b"<meta charset=Shift_JIS><p>\x93\xfa\x96{\x8c\xea\x81B</p>";
    assert_eq!(copied(japanese), japanese);
}

#[test]
fn a_page_with_the_byte_order_mark_of_utf16_is_read() {
    let page = "\u{feff}<meta charset=utf-8><p>Größe 🌂</p>";
    let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(copied(&little), little);
    assert_eq!(copied(&big), big);
    let lines = Writes::new(|line| line.text.replace("Größe", "大きさ"));
    let written = translated(&lines, &little).expect("the page is read");
    let expected = page.replace("Größe", "大きさ");
    assert_eq!(
        written,
        expected
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    );
}

#[test]
fn the_first_declaration_counts_and_comments_declare_nothing() {
    let page = "<!-- <meta charset=latin1> --><meta charset=utf-8><p>café</p>".as_bytes();
    assert_eq!(copied(page), page);
    let page = b"<meta charset=latin1><meta charset=utf-8><p>caf\xe9</p>";
    assert_eq!(copied(page), page);
}

#[test]
fn a_page_that_is_not_in_the_encoding_that_it_declares_is_refused() {
    let error = translated(&Copies { most: 1000 }, b"<meta charset=euc-kr><p>\xff</p>");
    let message = error
        .expect_err("this byte is in no text of it")
        .to_string();
    assert!(
        message.starts_with("a, line 1: the encoding of the file is `EUC-KR`"),
        "{message}"
    );
    let error = translated(&Copies { most: 1000 }, b"<meta charset=klingon><p>a</p>");
    let message = error.expect_err("it is unknown").to_string();
    assert!(
        message.starts_with("a, line 1: the page declares its encoding as `klingon`"),
        "{message}"
    );
}

#[test]
fn the_mark_and_the_first_declaration_win_over_later_ones() {
    for page in [
        "\u{feff}<meta charset=iso-8859-1><p>Größe</p>",
        "<meta charset=utf-8><meta charset=iso-8859-1><p>Größe</p>",
    ] {
        assert_eq!(copied(page.as_bytes()), page.as_bytes());
    }
}

#[test]
fn a_page_in_an_encoding_with_shifts_is_refused() {
    let page = b"<meta charset=iso-2022-jp><p>\x1b$B$\"\x1b(B</p>";
    assert!(translated(&Copies { most: 1000 }, page).is_err());
}

/// Translates a file, and checks that a copy equals it.
fn check(format: &str, file: &[u8], lines: &impl LineTranslator) -> Vec<u8> {
    let copy = translated_as(format, &Copies { most: 1000 }, file);
    assert_eq!(copy.expect("the file is read"), file);
    translated_as(format, lines, file).expect("the file is read")
}

#[test]
fn xml_is_read_and_written_in_the_encoding_that_it_declares() {
    let file = |encoding: &str, text: &[u8]| {
        let start = format!("<?xml version='1.0' encoding='{encoding}'?><root><data><value>");
        [start.as_bytes(), text, b"</value></data></root>"].concat()
    };
    for (encoding, text, expected) in [
        ("windows-1252", &b"caf\xe9"[..], &b"\x80 \xef &#28450;"[..]),
        // It has no euro sign, unlike on the web.
        ("ISO-8859-1", b"caf\xe9", b"&#8364; \xef &#28450;"),
        ("iso_8859-1", b"caf\xe9", b"&#8364; \xef &#28450;"),
        ("L1", b"caf\xe9", b"&#8364; \xef &#28450;"),
        ("cp1252", b"caf\xe9", b"\x80 \xef &#28450;"),
        ("us-ascii", b"dog", b"&#8364; &#239; &#28450;"),
    ] {
        let lines = Writes::new(|_| "€ ï 漢".to_owned());
        let found = check("resx", &file(encoding, text), &lines);
        assert_eq!(found, file(encoding, expected));
    }
    let unknown = translated_as("resx", &Copies { most: 9 }, &file("klingon", b"dog"));
    let message = unknown.expect_err("it is unknown").to_string();
    assert!(
        message.contains("declares its encoding as `klingon`"),
        "{message}"
    );
}

#[test]
fn strings_with_the_byte_order_mark_of_utf16_stay_in_it() {
    let file = |text: &str| {
        let file = format!("\u{feff}\"key\" = \"{text}\";\n");
        file.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let lines = Writes::new(|_| "大きさ".to_owned());
    assert_eq!(check("strings", &file("A dog"), &lines), file("大きさ"));
}

#[test]
fn properties_are_read_in_latin_1_if_they_are_not_utf8_and_written_with_escapes() {
    let lines = Writes::new(|_| "naïf 漢".to_owned());
    let found = check("properties", b"a = caf\xe9 noir\nb = caf\xe9\n", &lines);
    assert_eq!(found, b"a = na\\u00eff \\u6f22\nb = na\\u00eff \\u6f22\n");
    // As the start of a character of UTF-8, the last byte would be followed by others.
    let found = check("properties", b"a = caf\xe9", &lines);
    assert_eq!(found, b"a = na\\u00eff \\u6f22");
}

/// An input that a terminal could go on with after its end.
struct Typed {
    text: &'static [u8],
    has_ended: bool,
}

impl std::io::Read for Typed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        assert!(!self.has_ended, "it is read after its end");
        let n_bytes = self.text.read(buffer)?;
        self.has_ended = n_bytes == 0;
        Ok(n_bytes)
    }
}

#[test]
fn an_input_is_not_read_after_its_end() {
    for (format, text) in [
        ("txt", &b"a dog"[..]),
        ("properties", b"a = caf\xe9 noir\n"),
    ] {
        let typed = Typed {
            text,
            has_ended: false,
        };
        let format: Format = format.parse().expect("it is a format");
        let parts = format.read("a".to_owned(), typed, &FormatOptions::default());
        let copy = translate_document(&Copies { most: 9 }, parts.expect("it is read"));
        assert_eq!(copy.expect("it is read"), text);
    }
}
