//! The list of all rules, and the [`Problem`]s that they report.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use super::tree::Tree;
use super::{chapters, documents, listings, one_build, paper, sources};

/// A line or file that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path of the file or folder from the root, with the line if there is one.
    pub(super) location: String,
    /// The fault, and the way to mend it.
    message: String,
}

impl Problem {
    pub(super) fn new(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            location: location.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

/// Checks every rule and prints every problem.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let rules = [
        sources::check,
        documents::check,
        listings::check,
        chapters::check,
        paper::check,
    ];
    let mut problems: Vec<Problem> = rules.into_iter().flat_map(|rule| rule(&tree)).collect();
    problems.extend(one_build::check(root)?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => bail!("1 problem, see above"),
        n => bail!("{n} problems, see above"),
    }
}
