//! [`Problem`]: what a rule reports.

use std::fmt;

/// A line or file that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path of the file or folder from the root, and the line where there is one.
    pub(super) location: String,
    /// What is wrong, and how to mend it.
    pub(super) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}
