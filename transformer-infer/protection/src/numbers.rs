//! The digits of numbers, in the notation of any language.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::kinds::pattern;

/// Maximum number that a translation may write as a word.
pub const MAX_SMALL: u32 = 12;

/// The digit 0 of each script with its own digits.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xe50, 0xed0, 0x1040, 0x17e0, 0xff10,
];

/// Returns whether a number may be written as a word: it is at most 12 and stands alone or with a unit.
pub fn is_small_number(number: &str) -> bool {
    let has_sign = number.contains(|c: char| "€$£¥₹₩%‰°".contains(c));
    match groups(number).as_slice() {
        [digits] => !has_sign && digits.parse().is_ok_and(|value: u32| value <= MAX_SMALL),
        _ => false,
    }
}

/// A number in the Indian notation, with groups of two digits.
static LAKHS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u:\b\d{1,2}(?:,\d{2})+,\d{3}\b)"));

/// A digit, a space and three digits.
static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d) (\d{3}(?-u:\b))"));

/// Returns a text with no-break spaces in place of the spaces that may separate thousands.
pub fn with_joined_thousands(text: &str) -> String {
    let joined = |text: &str| THOUSANDS.replace_all(text, "$1\u{a0}$2").into_owned();
    // Matches do not overlap, so millions need a second pass.
    joined(&joined(text))
}

/// Returns the groups of digits of a text, with thousands joined: `1`, `5` and `1234`, `56` for `1.5 and 1,234.56`.
pub fn groups(text: &str) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    // True if thousands may follow the last group.
    let mut is_open = false;
    let text = LAKHS.replace_all(text, |number: &Captures<'_>| number[0].replace(',', ""));
    let mut rest = text.as_ref();
    while let Some(start) = rest.find(|c| digit(c).is_some()) {
        let between = &rest[..start];
        let run: String = rest[start..].chars().map_while(digit).collect();
        let n_bytes: usize = rest[start..]
            .chars()
            .take(run.len())
            .map(char::len_utf8)
            .sum();
        rest = &rest[start + n_bytes..];
        let mut separator = between.chars();
        let separates = separator
            .next()
            .is_some_and(|c| ".,'’٬٫\u{a0}\u{202f}".contains(c));
        match groups.last_mut() {
            Some(group) if is_open && run.len() == 3 && separates && separator.next().is_none() => {
                group.push_str(&run);
            }
            _ => {
                is_open = run.len() <= 3 && !run.starts_with('0');
                groups.push(run);
            }
        }
    }
    groups
}

/// Returns the ASCII digit.
fn digit(c: char) -> Option<char> {
    let value = ZEROS
        .iter()
        .find_map(|zero| u32::from(c).checked_sub(*zero).filter(|it| *it < 10));
    value.and_then(|value| char::from_digit(value, 10))
}
