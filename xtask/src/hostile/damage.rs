//! Damage to files: single bytes at every position, and random changes of any kind.

use super::random::Random;

/// Numbers that replace a number of a file, in JSON, TOML or text.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "2",
    "65536",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "-9223372036854775808",
    "1e300",
    "1e999",
    "0.5",
    "NaN",
    "null",
];

/// Changes of one byte, by their names.
#[derive(Clone, Copy, Debug)]
pub(super) enum ByteChange {
    /// One bit is inverted.
    Flip,
    /// The byte is removed.
    Delete,
    /// A byte is inserted before it.
    Insert,
    /// The file ends before it.
    Truncate,
    /// It becomes a byte with a meaning in text or numbers.
    Replace,
}

impl ByteChange {
    pub(super) const ALL: [Self; 5] = [
        Self::Flip,
        Self::Delete,
        Self::Insert,
        Self::Truncate,
        Self::Replace,
    ];

    /// Changes the byte at a position; the content differs afterwards.
    pub(super) fn apply(self, bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
        match self {
            Self::Flip => bytes[at] ^= 1 << random.below(8),
            Self::Delete => drop(bytes.remove(at)),
            Self::Insert => bytes.insert(at, special(random)),
            Self::Truncate => bytes.truncate(at),
            Self::Replace => {
                let before = bytes[at];
                while bytes[at] == before {
                    bytes[at] = special(random);
                }
            }
        }
    }
}

/// Returns a byte that parsers treat in a way of its own.
fn special(random: &mut Random) -> u8 {
    let bytes = b"\0\x01\n\r\t \"'\\,:{}[]()0159-+.eE\x7f\x80\xc0\xed\xfe\xff";
    match random.one_in(4) {
        true => random.next() as u8,
        false => bytes[random.below(bytes.len())],
    }
}

/// Changes a content at random, once or a few times.
pub(super) fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let n_changes = 1 + if random.one_in(3) { random.below(4) } else { 0 };
    for _ in 0..n_changes {
        damage_once(bytes, random);
    }
}

fn damage_once(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        let n = 1 + random.below(40);
        return bytes.extend(random.bytes(n));
    }
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(40)).min(bytes.len());
    match random.below(12) {
        0..=3 => {
            let change = ByteChange::ALL[random.below(5)];
            change.apply(bytes, at, random);
        }
        4 => drop(bytes.drain(at..end)),
        5 => {
            let range = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, range);
        }
        6 => bytes[at..end].fill(if random.one_in(2) { 0 } else { 0xff }),
        7 => {
            let n = 1 + random.below(40);
            bytes.splice(at..end, random.bytes(n));
        }
        8 | 9 => replace_number(bytes, at, random),
        10 => {
            let n = 8.min(bytes.len() - at);
            let number = random.next() >> (8 * random.below(8));
            bytes[at..at + n].copy_from_slice(&number.to_le_bytes()[..n]);
        }
        _ => {
            let n = 1 + random.below(40);
            let tail = random.bytes(n);
            bytes.extend(tail);
        }
    }
}

/// Replaces the first decimal number at or after a position.
pub(super) fn replace_number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = bytes[at..]
        .iter()
        .position(is_digit)
        .map(|start| at + start)
    else {
        return;
    };
    let n = bytes[start..]
        .iter()
        .take_while(|byte| is_digit(byte))
        .count();
    let number = random.pick(&NUMBERS);
    bytes.splice(start..start + n, number.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_differs_at_its_position_only() {
        let mut random = Random::new(1, "damage", 0);
        for at in 0..26 {
            let whole: Vec<u8> = (b'a'..=b'z').collect();
            let mut flipped = whole.clone();
            ByteChange::Flip.apply(&mut flipped, at, &mut random);
            assert_eq!(flipped.len(), whole.len());
            assert!((0..26).all(|index| (flipped[index] == whole[index]) == (index != at)));
            let mut cut = whole.clone();
            ByteChange::Truncate.apply(&mut cut, at, &mut random);
            assert_eq!(cut, whole[..at]);
        }
    }

    #[test]
    fn the_next_number_is_replaced() {
        let mut random = Random::new(1, "damage", 1);
        let mut bytes = b"a 123 b 45".to_vec();
        replace_number(&mut bytes, 1, &mut random);
        assert!(bytes.starts_with(b"a ") && bytes.ends_with(b" b 45"));
        assert_ne!(bytes, b"a 123 b 45");
    }
}
