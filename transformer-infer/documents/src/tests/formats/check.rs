//! What holds for every format.

use std::{fmt, fs, io};

use crate::format::{Format, FormatOptions};
use crate::{MarkKind, Part, Passage, ReadError};
use proptest::prelude::*;

/// The parts that a reader returns.
pub(super) type Read = Result<Vec<Part>, ReadError>;

/// Reads a document.
pub(super) fn read(format: Format, options: &FormatOptions, text: &[u8]) -> Read {
    let input = io::Cursor::new(text.to_vec());
    format.read("test".to_owned(), input, options)?.collect()
}

/// Returns a file of `tests/fixtures/documents`.
pub(super) fn fixture(name: &str) -> String {
    let path = format!(
        "{}/../tests/fixtures/documents/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::read_to_string(path).expect("the file is in the repository")
}

/// Returns the texts of the passages.
pub(super) fn texts(parts: &[Part]) -> Vec<&str> {
    passages(parts)
        .map(|passage| passage.text.as_str())
        .collect()
}

/// Returns the passages of a document; no mark of these formats contains any.
pub(super) fn passages(parts: &[Part]) -> impl Iterator<Item = &Passage> {
    parts.iter().filter_map(|part| match part {
        Part::Passage(passage) => Some(passage),
        Part::Verbatim(_) => None,
    })
}

/// Writes a document.
pub(super) fn written(parts: &[Part]) -> String {
    parts.iter().map(Part::source).collect()
}

/// Fails unless the parts are as the vocabulary of documents requires.
pub(super) fn assert_is_sound(parts: &[Part]) {
    for part in parts {
        match part {
            Part::Verbatim(text) => assert!((1..=1 << 16).contains(&text.len())),
            Part::Passage(passage) => assert_marks_are_sound(passage),
        }
    }
}

fn assert_marks_are_sound(passage: &Passage) {
    let mut last = 0;
    for (index, mark) in passage.marks.iter().enumerate() {
        let range = mark.range.clone();
        assert!(passage.text.get(range.clone()).is_some(), "{passage:?}");
        assert!(last <= range.start, "marks are in order: {passage:?}");
        last = range.start;
        if let Some(parent) = mark.parent {
            assert!(parent < index, "{passage:?}");
            let parent = &passage.marks[parent];
            assert!(matches!(parent.kind, MarkKind::Pair { .. }));
            let outer = parent.range.clone();
            assert!(
                outer.start <= range.start && range.end <= outer.end,
                "{passage:?}"
            );
        }
        if !matches!(mark.kind, MarkKind::Pair { .. }) {
            assert!(["", " "].contains(&&passage.text[range]), "{passage:?}");
        }
    }
}

/// Exchanges some letters, so that a text changes, its length does not, and words do not become tags.
pub(super) fn exchange(text: &str) -> String {
    let exchanged = |c| match c {
        'a' => 'e',
        'e' => 'a',
        'r' => 'l',
        'l' => 'r',
        _ => c,
    };
    text.chars().map(exchanged).collect()
}

/// Returns a document with other texts. Their marks must be where they were.
pub(super) fn with_texts(parts: &[Part], change: impl Fn(&str) -> String) -> Vec<Part> {
    let changed = |part: &Part| match part {
        Part::Passage(passage) => Part::Passage(Passage {
            text: change(&passage.text),
            ..passage.clone()
        }),
        Part::Verbatim(text) => Part::Verbatim(text.clone()),
    };
    parts.iter().map(changed).collect()
}

/// Fails unless a document with other texts is read back with these texts, and is the same otherwise.
pub(super) fn assert_reads_back(parts: &[Part], read: impl Fn(&str) -> Read) {
    let changed = with_texts(parts, exchange);
    let output = written(&changed);
    let again = read(&output).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(texts(&again), texts(&changed), "{output:?}");
    assert_eq!(written(&again), output);
    for (before, after) in passages(&changed).zip(passages(&again)) {
        let ranges = |passage: &Passage| -> Vec<_> {
            let marks = passage.marks.iter();
            marks
                .map(|mark| (mark.range.clone(), mark.parent))
                .collect()
        };
        assert_eq!(ranges(after), ranges(before), "{output:?}");
    }
}

/// A file that a property draws; a failure prints it as text.
#[derive(Clone)]
pub(super) struct File(pub(super) Vec<u8>);

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Bytes of a file after some changes: cuts, repeats, and characters that mean something in a format.
pub(super) fn mutated(
    file: String,
    special: &'static [&'static str],
) -> impl Strategy<Value = File> {
    let insertion = prop_oneof![
        4 => prop::sample::select(special).prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    let change = (any::<prop::sample::Index>(), 0..20usize, insertion);
    prop::collection::vec(change, 1..8).prop_map(move |changes| {
        let mut bytes = file.clone().into_bytes();
        for (at, n_removed, insertion) in changes {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + n_removed * n_removed / 8);
            bytes.splice(at..end, insertion);
        }
        File(bytes)
    })
}
