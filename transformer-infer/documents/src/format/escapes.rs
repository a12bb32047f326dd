//! The letters after a backslash that JSON and C have in common.

/// A letter after a backslash, and the character that it stands for.
const LETTERS: [(char, char); 7] = [
    ('b', '\u{8}'),
    ('f', '\u{c}'),
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('"', '"'),
    ('\\', '\\'),
];

pub(super) fn escaped_by(letter: char) -> Option<char> {
    LETTERS.iter().find(|it| it.0 == letter).map(|it| it.1)
}

/// Returns the letter that stands for a character after a backslash, if the character must be escaped.
pub(super) fn letter_for(char: char) -> Option<char> {
    LETTERS.iter().find(|it| it.1 == char).map(|it| it.0)
}

/// Returns the number of bytes before the next single quotation mark that is not doubled.
pub(super) fn len_until_single_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('\'')?;
        match text[at + 1..].starts_with('\'') {
            true => at += 2,
            false => return Some(at),
        }
    }
}
