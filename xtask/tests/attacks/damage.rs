//! [`Damage`]: a change of a file's bytes; [`Spoiled`]: a damaged file, or something else in its place.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use walkdir::WalkDir;

use super::texts::one_of;

/// Numbers to replace a number of a file, in JSON, TOML or text.
const NUMBERS: &str =
    "0 | -1 | 1 | 2 | 65536 | 4294967295 | 9223372036854775807 | 18446744073709551616
    | -9223372036854775808 | 1e300 | 1e999 | 0.5 | NaN | null";

/// Bytes that are special in text, numbers and JSON, and instructions of pickles.
const SPECIAL: &[u8] = b"\0\x01\n\r\t \"'\\,:{}[]()0159-+.eE\x7f\x80\xc0\xed\xfe\xff";
const OPCODES: &[u8] =
    b".0(2}]a)bcdehijlopqrstuNIJKLMGFSTUVXQRP\x80\x81\x82\x85\x86\x87\x88\x8a\x8b\
    \x8e\x93\x94\x95\x96";

/// Texts that a reader of JSON does not expect.
const JSON: &str = "| {} | [] | null | 0 | \"a\" | {\"a\": | {\"a\":1,\"a\":1} | \u{feff}{} | [[[[[[[[ | {}{} | 1e999";

/// Number of bytes at the start of weights, with names and shapes; values follow.
const HEAD: usize = 4000;

/// A change of bytes, at positions modulo the length.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    /// Truncation at this position.
    Truncate(usize),
    Flip(usize, u8),
    /// Replacement of this many bytes.
    Replace(usize, usize, Vec<u8>),
    /// Repetition of this many bytes elsewhere.
    Repeat(usize, usize, usize),
    /// Another number in place of the next decimal number.
    Number(usize, &'static str),
}

/// Draws a change.
fn damage() -> impl Strategy<Value = Damage> {
    let at = || 0..1_usize << 24;
    let byte = prop_oneof![3 => select(SPECIAL), 1 => select(OPCODES), 1 => any::<u8>()];
    let integer =
        (any::<u64>(), 0..8_u32).prop_map(|(it, n)| (it >> (8 * n)).to_le_bytes().to_vec());
    prop_oneof![
        2 => at().prop_map(Damage::Truncate),
        2 => (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        6 => (at(), 0..2_usize, byte).prop_map(|(at, n, byte)| Damage::Replace(at, n, vec![byte])),
        2 => (at(), 1..41_usize).prop_map(|(at, n)| Damage::Replace(at, n, Vec::new())),
        2 => (at(), 0..41_usize, vec(any::<u8>(), 1..40)).prop_map(|(at, n, new)| Damage::Replace(at, n, new)),
        1 => (at(), 1..41_usize, any::<bool>())
            .prop_map(|(at, n, ones)| Damage::Replace(at, n, [if ones { 255 } else { 0 }].repeat(n))),
        1 => (at(), integer).prop_map(|(at, new)| Damage::Replace(at, 8, new)),
        1 => (at(), 1..41_usize, at()).prop_map(|(from, n, to)| Damage::Repeat(from, n, to)),
        2 => (at(), one_of(NUMBERS)).prop_map(|(at, new)| Damage::Number(at, new)),
    ]
}

/// Draws one or a few changes.
pub(crate) fn damages() -> impl Strategy<Value = Vec<Damage>> {
    prop_oneof![3 => vec(damage(), 1), 1 => vec(damage(), 1..6)]
}

impl Damage {
    /// Applies the change at a position in the first `head` bytes.
    pub(crate) fn apply_to_head(&self, bytes: &mut Vec<u8>, head: usize) {
        let (all, len) = (bytes.len(), bytes.len().min(head));
        let range = |at: &usize, n: usize| {
            let start = at % len.max(1);
            start..(start + n).min(all)
        };
        match self {
            Self::Truncate(at) => bytes.truncate(range(at, 0).start),
            Self::Flip(at, bit) => bytes[range(at, 1)]
                .iter_mut()
                .for_each(|it| *it ^= 1 << bit),
            Self::Replace(at, n, new) => drop(bytes.splice(range(at, *n), new.iter().copied())),
            Self::Repeat(from, n, to) => {
                let repeated = bytes[range(from, *n)].to_vec();
                bytes.splice(range(to, 0), repeated);
            }
            Self::Number(at, new) => {
                let start = range(at, 0).start;
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let Some(first) = bytes[start..].iter().position(is_digit) else {
                    return;
                };
                let n = bytes[start + first..]
                    .iter()
                    .take_while(|byte| is_digit(byte))
                    .count();
                bytes.splice(start + first..start + first + n, new.bytes());
            }
        }
    }

    /// Returns the bytes after changes anywhere.
    pub(crate) fn apply(damages: &[Self], bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        damages
            .iter()
            .for_each(|damage| damage.apply_to_head(&mut bytes, usize::MAX));
        bytes
    }
}

/// A file that is damaged, or something else in its place.
#[derive(Clone, Debug)]
pub(crate) enum Spoiled {
    /// Changes; if the flag is `true`, only of the first bytes.
    Damaged(Vec<Damage>, bool),
    Missing,
    Folder,
    Pipe,
    Link(&'static str),
    /// A sparse file of 1 TiB.
    Huge,
    Text(String),
    /// A file of a model of the lab.
    Other(Index),
}

/// Draws a spoiled file.
pub(crate) fn spoiled() -> impl Strategy<Value = Spoiled> {
    let links = "nowhere | . | /dev/zero | /dev/null | /dev/full | /dev/tty | /dev/random";
    prop_oneof![
        30 => (damages(), any::<bool>()).prop_map(|(damages, head)| Spoiled::Damaged(damages, head)),
        1 => Just(Spoiled::Missing),
        1 => Just(Spoiled::Folder),
        1 => Just(Spoiled::Pipe),
        1 => one_of(links).prop_map(Spoiled::Link),
        1 => Just(Spoiled::Huge),
        1 => one_of(JSON).prop_map(|text| Spoiled::Text(text.to_owned())),
        1 => (0..16_u32).prop_map(|n| Spoiled::Text("[".repeat(1 << n))),
        3 => any::<Index>().prop_map(Spoiled::Other),
    ]
}

impl Spoiled {
    /// Spoils a file.
    pub(crate) fn apply(&self, path: &Path, lab: &Path) -> Result<()> {
        let mut bytes = fs::read(path)?;
        fs::remove_file(path)?;
        match self {
            Self::Damaged(damages, is_head) => {
                let is_weights = bytes.len() > HEAD;
                let head = if is_weights && *is_head {
                    HEAD
                } else {
                    usize::MAX
                };
                damages
                    .iter()
                    .for_each(|damage| damage.apply_to_head(&mut bytes, head));
                fs::write(path, bytes)?;
            }
            Self::Missing => {}
            Self::Folder => fs::create_dir(path)?,
            Self::Pipe => drop(Command::new("mkfifo").arg(path).status()?),
            Self::Link(target) => symlink(target, path)?,
            Self::Huge => File::create(path)?.set_len(1 << 40)?,
            Self::Text(text) => fs::write(path, text)?,
            Self::Other(index) => {
                let folders = ["model", "words", "marian", "int8", "separate", "shared"];
                let files = folders
                    .iter()
                    .flat_map(|folder| WalkDir::new(lab.join(folder)));
                let files = files.flatten().filter(|file| file.file_type().is_file());
                fs::copy(index.get(&files.collect::<Vec<_>>()).path(), path)?;
            }
        }
        Ok(())
    }
}

#[test]
fn changes_are_where_they_are_drawn() {
    let damaged = |damage| String::from_utf8(Damage::apply(&[damage], b"a 123 b 45"));
    assert_eq!(damaged(Damage::Truncate(5)), Ok("a 123".into()));
    assert_eq!(damaged(Damage::Flip(5, 1)), Ok("a 123\"b 45".into()));
    assert_eq!(
        damaged(Damage::Replace(0, 3, b"x".to_vec())),
        Ok("x23 b 45".into())
    );
    assert_eq!(
        damaged(Damage::Repeat(5, 5, 0)),
        Ok(" b 45a 123 b 45".into())
    );
    assert_eq!(damaged(Damage::Number(0, "-1")), Ok("a -1 b 45".into()));
    let mut bytes = b"abcd".to_vec();
    Damage::Truncate(3).apply_to_head(&mut bytes, 2);
    assert_eq!(bytes, b"a");
}
