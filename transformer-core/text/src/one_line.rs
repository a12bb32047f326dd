//! Errors with all their causes as one line of text.

use std::error::Error;

/// Maximum number of characters kept at the beginning and at the end of a cause. Some libraries list every tensor of a
/// model between them.
const MAX_OF_CAUSE: usize = 300;

/// The same for the error itself, which may list every setting that differs.
const MAX_OF_ERROR: usize = 1500;

/// Returns an error and its causes as one line. A cause that is already in the text is not repeated, and the middle of
/// a cause with more than 600 characters is removed. Characters that control a terminal, which a damaged file or a line
/// of text may contain, are written as `\u{1b}`.
pub fn one_line(error: &dyn Error) -> String {
    let mut text = shortened(&printable(&error.to_string()), MAX_OF_ERROR);
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = printable(&error.to_string());
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&shortened(&message, MAX_OF_CAUSE));
        }
        cause = error.source();
    }
    text
}

/// Removes the middle of a text, and keeps `most` characters before and after it.
fn shortened(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= 2 * most {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(most).collect();
    let end: String = text.chars().skip(n - most).collect();
    format!("{beginning} … {end}")
}

/// Replaces line breaks and repeated spaces by single spaces, and escapes characters that control a terminal.
pub fn printable(text: &str) -> String {
    let words = text.split_whitespace().map(escaped);
    words.collect::<Vec<_>>().join(" ")
}

fn escaped(word: &str) -> String {
    let mut text = String::new();
    for character in word.chars() {
        match controls(character) {
            true => text.extend(character.escape_unicode()),
            false => text.push(character),
        }
    }
    text
}

/// Returns whether a character moves the cursor, erases, or changes the direction of the text after it.
fn controls(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("cannot read `a`")]
        WithoutCause(#[source] io::Error),
        #[error("cannot read `a`: {0}")]
        WithCause(#[source] io::Error),
    }

    #[test]
    fn a_cause_is_written_once() {
        let cause = || io::Error::other("the disk\nis gone");
        let without = one_line(&Failure::WithoutCause(cause()));
        let with = one_line(&Failure::WithCause(cause()));
        assert_eq!(without, "cannot read `a`: the disk is gone");
        assert_eq!(with, without);
    }

    #[test]
    fn characters_that_control_a_terminal_are_escaped() {
        let error = io::Error::other("no\u{1b}[2J\0 such\u{202e} file\u{85}é");
        assert_eq!(one_line(&error), r"no\u{1b}[2J\u{0} such\u{202e} file é");
    }

    #[test]
    fn a_long_error_loses_its_middle() {
        let (beginning, end) = ("ä".repeat(1500), "ö".repeat(1500));
        let error = io::Error::other(format!("{beginning}middle{end}"));
        assert_eq!(one_line(&error), format!("{beginning} … {end}"));
    }

    #[test]
    fn a_long_cause_loses_its_middle() {
        let line = |cause: String| one_line(&Failure::WithoutCause(io::Error::other(cause)));
        let (beginning, end) = ("ä".repeat(300), "ö".repeat(300));
        assert_eq!(
            line(format!("{beginning}{end}")),
            format!("cannot read `a`: {beginning}{end}")
        );
        assert_eq!(
            line(format!("{beginning}middle{end}")),
            format!("cannot read `a`: {beginning} … {end}")
        );
    }
}
