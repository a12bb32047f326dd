//! [`Text`]: lines as from a careless or malicious user, and their storage in a file.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::damage::{Damage, damages};
use super::program::Ended;

/// Words that tokenizers, metrics and writers of JSON and HTML treat specially.
const WORDS: &str = "1¦10¦101101¦7¦0¦ ¦  ¦\t¦\u{a0}¦\u{3000}¦\u{200b}¦\u{200d}¦\u{2028}¦\u{85}¦\u{feff}¦\
    e\u{301}\u{301}\u{301}¦\u{202e}abc¦👩‍👩‍👧‍👦¦漢字¦ﷺ¦İ¦ß¦<s>¦</s>¦<pad>¦<unk>¦▁¦@@ ¦&amp;<b>\"¦</script>¦\\n¦\u{fffd}¦\
    \"¦\u{10ffff}";

/// Bytes that are not UTF-8: lone continuations, overlong forms, surrogates, a cut character, and no byte of UTF-8.
pub(crate) fn invalid() -> impl Strategy<Value = &'static [u8]> {
    let bytes = b"\xff|\x80|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82|\xfe";
    select(bytes.split(|byte| *byte == b'|').collect::<Vec<_>>())
}

/// A text.
#[derive(Clone)]
pub(crate) struct Text {
    content: Vec<u8>,
    /// The bytes of the file: the text, or gzip of it.
    pub(crate) stored: Vec<u8>,
    /// True if the file is damaged, so that it may not contain the text.
    is_damaged: bool,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.content.escape_ascii())
    }
}

/// Draws a line of any bytes except a line end.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&str> = WORDS.split('¦').collect();
    let word = prop_oneof![
        39 => select(words.clone()).prop_map(|word| word.as_bytes().to_vec()),
        11 => Just(b" ".to_vec()),
        5 => any::<char>().prop_map(|char| char.to_string().into_bytes()),
        1 => invalid().prop_map(<[u8]>::to_vec),
        2 => (0..32_u8).prop_map(|byte| vec![byte]),
        1 => (select(words), 1..3000_usize).prop_map(|(word, n)| word.repeat(n).into_bytes()),
        1 => Just(b"\r".to_vec()),
    ];
    let line = vec(word, 0..9).prop_map(|words| words.concat());
    line.prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

/// Draws an argument; it cannot contain NUL.
pub(crate) fn argument() -> impl Strategy<Value = std::ffi::OsString> {
    let line = line().prop_map(|line| line.into_iter().filter(|byte| *byte != 0).collect());
    line.prop_map(std::os::unix::ffi::OsStringExt::from_vec)
}

/// Draws pairs of lines, a third of them only digits.
fn pairs() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let digits = || "[0-7 ]{0,11}".prop_map(String::into_bytes);
    prop_oneof![1 => vec((digits(), digits()), 0..10), 2 => vec((line(), line()), 0..10)]
}

/// Draws the storage of lines: plain, or in one or two gzip members, which may be damaged.
fn stored(lines: impl Strategy<Value = Vec<Vec<u8>>>) -> impl Strategy<Value = Text> {
    let damages = prop_oneof![Just(Vec::new()), damages()];
    let packing = option::weighted(0.2, (0.0..1.0_f64, weighted(0.3), damages));
    let form = (weighted(0.1), weighted(0.2), weighted(0.2), packing);
    (lines, form).prop_map(|(lines, (has_mark, has_returns, is_open, packing))| {
        let end: &[u8] = if has_returns { b"\r\n" } else { b"\n" };
        let mark = if has_mark { "\u{feff}" } else { "" };
        let lines = lines.iter().flat_map(|line| [line, end]);
        let mut content = [mark.as_bytes()]
            .into_iter()
            .chain(lines)
            .collect::<Vec<_>>()
            .concat();
        if is_open {
            content.pop();
        }
        let (mut stored, mut is_damaged) = (content.clone(), false);
        if let Some((middle, has_members, damages)) = packing {
            let middle = (middle * content.len() as f64) as usize;
            let (first, second) = content.split_at(if has_members { middle } else { 0 });
            let first = if has_members { gzip(first) } else { Vec::new() };
            let whole = [first, gzip(second)].concat();
            stored = Damage::apply(&damages, &whole);
            is_damaged = stored != whole;
        }
        // A text that begins like gzip is read as gzip.
        is_damaged |= content.starts_with(b"\x1f\x8b");
        Text {
            content,
            stored,
            is_damaged,
        }
    })
}

/// Draws a text.
pub(crate) fn text() -> impl Strategy<Value = Text> {
    stored(pairs().prop_map(|pairs| pairs.into_iter().map(|pair| pair.0).collect()))
}

/// Draws two texts, with equal numbers of lines in two of three cases.
pub(crate) fn two_texts() -> impl Strategy<Value = [Text; 2]> {
    (pairs(), option::weighted(0.3, vec(line(), 0..10))).prop_flat_map(|(pairs, other)| {
        let (src, tgt) = pairs.into_iter().unzip();
        let tgt = other.unwrap_or(tgt);
        (stored(Just(src)), stored(Just(tgt))).prop_map(|(src, tgt)| [src, tgt])
    })
}

/// Returns the content compressed by gzip.
pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.expect("memory can be written")
}

impl Text {
    /// Returns whether the file is intact and its text UTF-8, so that every command must read it.
    pub(crate) fn is_readable(&self) -> bool {
        !self.is_damaged && str::from_utf8(&self.content).is_ok()
    }

    /// Checks that a command refused the text if it is not UTF-8.
    pub(crate) fn check(&self, ended: &Ended) -> Result<()> {
        match self.is_damaged || self.is_readable() {
            true => Ok(()),
            false => ended.check_refused("the text is not UTF-8"),
        }
    }

    /// Returns the lines, without the byte order mark and the line ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.content);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.split('\n').filter(|_| !self.content.is_empty());
        lines
            .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
            .collect()
    }

    /// Checks that every line has a translation, and that JSON repeats the line.
    pub(crate) fn check_translations(&self, ended: &Ended, is_json: bool) -> Result<()> {
        if !ended.succeeded() || self.is_damaged {
            return Ok(());
        }
        let output = str::from_utf8(&ended.stdout).context("the output is not UTF-8")?;
        ensure!(
            output.is_empty() || output.ends_with('\n'),
            "the last line has no end"
        );
        let lines = self.lines();
        ended.check_lines(lines.len())?;
        for (line, answer) in lines.iter().zip(output.split('\n')).filter(|_| is_json) {
            let answer: Value = serde_json::from_str(answer).context("the output is not JSON")?;
            ensure!(
                answer["src"] == **line,
                "{line:?} is {} in the output",
                answer["src"]
            );
        }
        Ok(())
    }
}

#[test]
fn lines_end_as_the_programs_read_them() {
    let lines = |content: &str| {
        let (content, stored) = (content.into(), Vec::new());
        Text {
            content,
            stored,
            is_damaged: false,
        }
        .lines()
    };
    assert_eq!(lines("\u{feff}a\r\n\nb"), ["a", "", "b"]);
    assert_eq!(lines("a\rb\n\n"), ["a\rb", ""]);
    assert!(lines("").is_empty());
}
