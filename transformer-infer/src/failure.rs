//! How a program tells its user what went wrong: one line, whatever libraries below said.

use std::error::Error;

/// Most characters of one cause: some libraries name every tensor of a model.
const MOST_CHARACTERS: usize = 300;

/// Writes an error and its causes on one line, a cause that the text before it already has left out. A cause of
/// more than 300 characters is cut.
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
            text.extend(said.chars().take(MOST_CHARACTERS));
            if said.chars().nth(MOST_CHARACTERS).is_some() {
                text.push_str(" …");
            }
        }
        cause = error.source();
    }
    text
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
    fn a_cause_without_end_is_cut() {
        let told = one_line(&Failure::Silent(io::Error::other("ä".repeat(301))));
        assert_eq!(told, format!("cannot read `a`: {} …", "ä".repeat(300)));
        let told = one_line(&Failure::Silent(io::Error::other("ä".repeat(300))));
        assert_eq!(told, format!("cannot read `a`: {}", "ä".repeat(300)));
    }
}
