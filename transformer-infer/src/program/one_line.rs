//! Errors with all their causes as one line of text.

use std::error::Error;

/// Largest number of characters of the beginning and of the end of a cause. Some libraries list every tensor of a model
/// between the two.
const MAX_BEGINNING: usize = 300;
const MAX_END: usize = 300;

/// Returns an error and its causes as one line. A cause that the text already contains is not repeated, and one of more
/// than 600 characters loses its middle.
///
/// # Example
///
/// ```
/// use transformer_infer::one_line;
///
/// let error = transformer_infer::search::SearchError::NoBeam;
/// assert_eq!(one_line(&error), "`beam_size` is 0; choose at least 1 (1 is greedy search)");
/// ```
pub fn one_line(error: &dyn Error) -> String {
    let mut text = flat(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = flat(&error.to_string());
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&shortened(&message));
        }
        cause = error.source();
    }
    text
}

/// Removes the middle of a text that is too long.
fn shortened(text: &str) -> String {
    let n = text.chars().count();
    if n <= MAX_BEGINNING + MAX_END {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MAX_BEGINNING).collect();
    let end: String = text.chars().skip(n - MAX_END).collect();
    format!("{beginning} … {end}")
}

/// Replaces line breaks and repeated spaces by single spaces.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
