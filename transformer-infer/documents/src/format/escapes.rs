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

/// Returns the character that a letter after a backslash stands for.
pub(super) fn escaped_by(letter: char) -> Option<char> {
    LETTERS.iter().find(|it| it.0 == letter).map(|it| it.1)
}

/// Returns the letter that stands for a character after a backslash, if the character must be escaped.
pub(super) fn letter_for(char: char) -> Option<char> {
    LETTERS.iter().find(|it| it.1 == char).map(|it| it.0)
}
