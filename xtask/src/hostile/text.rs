//! [`Text`]: generated lines that a careless or malicious user would pass, and how they are stored.

use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::damage::damage;
use super::random::Random;

/// Words of lines: what tokenizers, metrics and writers of JSON and HTML treat in a way of their own.
const WORDS: [&str; 34] = [
    "1",
    "10",
    "101101",
    "7",
    "0",
    " ",
    "  ",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "\u{200d}",
    "\u{2028}",
    "\u{85}",
    "\u{feff}",
    "e\u{301}\u{301}\u{301}",
    "\u{202e}abc",
    "👩‍👩‍👧‍👦",
    "漢字",
    "ﷺ",
    "İ",
    "ß",
    "<s>",
    "</s>",
    "<pad>",
    "<unk>",
    "▁",
    "@@ ",
    "&amp;<b>\"",
    "</script>",
    "\\n",
    "\"",
    "\u{fffd}",
    "\u{10ffff}",
];

/// Bytes that are not UTF-8: lone continuations, overlong forms, surrogates, and a cut character.
pub(super) const INVALID: [&[u8]; 7] = [
    b"\xff",
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\xfe\xff\0a",
];

/// A generated text.
#[derive(Debug)]
pub(super) struct Text {
    /// The text itself.
    pub(super) content: Vec<u8>,
    /// What is in the file: the text, or gzip of it.
    pub(super) stored: Vec<u8>,
    /// Whether the file is damaged, so that it need not give the text.
    pub(super) is_damaged: bool,
}

impl Text {
    /// Generates a text of up to `most` lines.
    pub(super) fn new(most: usize, random: &mut Random) -> Result<Self> {
        let n_lines = random.below(most + 1);
        Self::with_lines(n_lines, random)
    }

    /// Generates a text of a number of lines, unless it has characters that end lines.
    pub(super) fn with_lines(n_lines: usize, random: &mut Random) -> Result<Self> {
        let mut content = Vec::new();
        if random.one_in(12) {
            content.extend("\u{feff}".as_bytes());
        }
        let is_tame = random.one_in(3);
        let line_end: &[u8] = if random.one_in(6) { b"\r\n" } else { b"\n" };
        for _ in 0..n_lines {
            match is_tame {
                true => content.extend(tame_line(random)),
                false => content.extend(line(random)),
            }
            content.extend(line_end);
        }
        if random.one_in(5) {
            content.pop();
        }
        Self::stored(content, random)
    }

    /// Stores a text plain, as gzip, or damaged.
    fn stored(content: Vec<u8>, random: &mut Random) -> Result<Self> {
        let mut stored = content.clone();
        let mut is_damaged = false;
        if random.one_in(5) {
            let middle = if random.one_in(3) {
                random.below(content.len() + 1)
            } else {
                0
            };
            stored = gzip(&content[..middle])?;
            if middle == 0 {
                stored.clear();
            }
            stored.extend(gzip(&content[middle..])?);
            if random.one_in(2) {
                is_damaged = true;
                damage(&mut stored, random);
            }
        }
        // A text whose first bytes are those of gzip is read as gzip.
        is_damaged |= content.starts_with(b"\x1f\x8b");
        Ok(Self {
            content,
            stored,
            is_damaged,
        })
    }

    /// Whether the file is intact and its text UTF-8, so that every command has to read it.
    pub(super) fn is_readable(&self) -> bool {
        !self.is_damaged && self.is_utf8()
    }

    /// Whether the file is intact and its text not UTF-8, so that every command has to refuse it.
    pub(super) fn is_unreadable(&self) -> bool {
        !self.is_damaged && !self.is_utf8()
    }

    fn is_utf8(&self) -> bool {
        std::str::from_utf8(&self.content).is_ok()
    }

    /// Returns the lines, without the byte order mark and the line ends.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.content);
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let mut lines: Vec<String> = lines
            .into_iter()
            .map(|line| line.strip_suffix('\r').unwrap_or(line).into())
            .collect();
        if let Some(first) = lines.first_mut() {
            *first = first.strip_prefix('\u{feff}').unwrap_or(first).into();
        }
        lines
    }
}

/// Compresses.
pub(super) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

/// Returns a line of digits.
fn tame_line(random: &mut Random) -> Vec<u8> {
    let n = random.below(12);
    (0..n).map(|_| b"01234567 "[random.below(9)]).collect()
}

/// Returns a line of any bytes but its end.
pub(super) fn line(random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    let n_words = random.below(9);
    for _ in 0..n_words {
        match random.below(60) {
            0 => {
                let invalid: &[u8] = random.pick(&INVALID);
                line.extend(invalid);
            }
            1 => line.push(0),
            2 => line.push(random.below(32) as u8),
            3 => {
                let n = 1 + random.below(3000);
                let word = random.pick(&WORDS);
                line.extend(word.repeat(n).bytes());
            }
            4 => line.extend(b"\r"),
            5..=9 => {
                let any = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('x');
                line.extend(any.to_string().bytes());
            }
            10..=20 => line.push(b' '),
            _ => {
                let word = random.pick(&WORDS);
                line.extend(word.bytes());
            }
        }
    }
    line.retain(|byte| *byte != b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &str) -> Vec<String> {
        let text = Text {
            content: content.into(),
            stored: Vec::new(),
            is_damaged: false,
        };
        text.lines()
    }

    #[test]
    fn lines_end_as_the_programs_read_them() {
        assert_eq!(lines("\u{feff}a\r\n\nb"), ["a", "", "b"]);
        assert_eq!(lines("a\rb\n\n"), ["a\rb", ""]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn generated_lines_have_no_line_end() {
        let mut random = Random::new(1, "text", 0);
        assert!((0..500).all(|_| !line(&mut random).contains(&b'\n')));
    }
}
