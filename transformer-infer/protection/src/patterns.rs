//! Patterns that several crates share, and pairs of braces.

use std::ops::Range;

use regex::Regex;

/// The start of text that is copied up to its closing brace.
pub const MESSAGE_START: &str = r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,";

/// Numbers, with their units, and as parts of dates, times, fractions and versions.
pub const NUMBERS: &str = concat!(
    r"(?:(?-u:\b)(?:US|AU|CA|NZ|HK|[ACRS]))?[€$£¥₹₩][ \u{a0}\u{202f}]?\d+(?:[.,'’\u{a0}\u{202f}]\d+)*(?:[A-Za-z]+|[ \u{a0}\u{202f}]?(?:bn|mn)\b)?",
    r"|(?-u:\b)[vV]?\d+(?:[.,:/'’\u{a0}\u{202f}–-]\d+)*(?:[ \u{a0}\u{202f}]?(?:[%‰€$£¥₹₩]|°[CF]?)",
    r"|[ \u{a0}\u{202f}]?(?:k?m/h|m/s|kWh|[kKMGT]i?[Bb]|[kKMGT]?Hz|[cdkmµn]?m[²³23]?|[kmµ]?g|[cdm]?[lL]|[kMG]?[WVAJN]|ms|s|min|h)(?-u:\b)|[A-Za-z]*)",
);

/// A character of an address, or a part of it in brackets.
macro_rules! of_address {
    ($not:literal, $ends:literal) => {
        concat!(
            r"(?:[^\s<>\x22“”„«»‘’()\[\]{}。，、）",
            $ends,
            $not,
            r"]|\([^\s<>\x22()",
            $ends,
            r"]*\)|\[[^\s<>\x22\[\]",
            $ends,
            r"]*\]|\{[^\s<>\x22{}]*\}|\{\{[^\n`{}]*\}\})"
        )
    };
}

/// The pattern of URLs without certain characters at their ends, and that others end.
macro_rules! url {
    ($not:literal, $ends:literal) => {
        concat!(
            r"(?:(?:https?|ftp|file|wss?)://|(?-u:\b)www\.)",
            of_address!("", $ends),
            "*",
            of_address!($not, $ends)
        )
    };
}

/// URLs in text.
pub const URL: &str = url!(".,;:!?'*_", "");

/// URLs in Markdown: code, cells and backslashes end them.
pub const URL_OF_MARKDOWN: &str = url!(".,;:!?'*_~", r"`|\\");

/// Compiles a pattern of this program.
///
/// # Panics
///
/// Panics if it is not a valid regular expression.
pub fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the program's patterns are regular expressions")
}

/// Returns the ranges from the opening braces at `starts`, which are in order, to their closing braces, in the order of
/// the latter. Braces that are not closed have no range. Reads the text once, regardless of the number of braces, and no
/// further than the last range that is taken.
pub fn closed_braces(
    text: &str,
    starts: impl Iterator<Item = usize>,
) -> impl Iterator<Item = Range<usize>> {
    let mut starts = starts.peekable();
    // Braces not closed yet, and whether each is in `starts`.
    let mut open: Vec<(usize, bool)> = Vec::new();
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'{' => open.push((at, starts.next_if_eq(&at).is_some())),
            b'}' => return open.pop().filter(|it| it.1).map(|(start, _)| start..at + 1),
            _ => {}
        }
        None
    })
}

/// Returns the length of the text in the braces at the start of `text`, if they are closed.
pub fn len_of_braces(text: &str) -> Option<usize> {
    let mut closed = closed_braces(text, std::iter::once(0));
    closed.next().map(|braces| braces.end)
}
