//! How a program tells its user what went wrong: one line, whatever libraries below said.

use std::error::Error;

/// Most characters of the beginning and of the end of one cause: some libraries name every tensor of a model
/// between them.
const MOST_OF_BEGINNING: usize = 300;
const MOST_OF_END: usize = 300;

/// Writes an error and its causes on one line, a cause that the text before it already has left out. Of a cause of
/// more than 600 characters the middle is left out.
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
        let said = flat(&error.to_string());
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&shortened(&said));
        }
        cause = error.source();
    }
    text
}

/// Leaves out the middle of a text that is too long.
fn shortened(text: &str) -> String {
    let n = text.chars().count();
    if n <= MOST_OF_BEGINNING + MOST_OF_END {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MOST_OF_BEGINNING).collect();
    let end: String = text.chars().skip(n - MOST_OF_END).collect();
    format!("{beginning} … {end}")
}

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
        Silent(#[source] io::Error),
        #[error("cannot read `a`: {0}")]
        Told(#[source] io::Error),
    }

    #[test]
    fn causes_are_told_once() {
        let cause = || io::Error::other("the disk\nis gone");
        let silent = one_line(&Failure::Silent(cause()));
        let told = one_line(&Failure::Told(cause()));
        assert_eq!(silent, "cannot read `a`: the disk is gone");
        assert_eq!(told, silent);
    }

    #[test]
    fn of_a_long_cause_beginning_and_end_are_told() {
        let tell = |said: String| one_line(&Failure::Silent(io::Error::other(said)));
        let (beginning, end) = ("ä".repeat(300), "ö".repeat(300));
        assert_eq!(
            tell(format!("{beginning}{end}")),
            format!("cannot read `a`: {beginning}{end}")
        );
        assert_eq!(
            tell(format!("{beginning}middle{end}")),
            format!("cannot read `a`: {beginning} … {end}")
        );
    }
}
