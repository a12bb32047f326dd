//! `cargo xtask tidy`: the rules of this repository that no other tool knows.

mod documents;
mod folders;
mod layers;
mod one_build;
mod paper;
mod sources;
mod tree;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use tree::Tree;

/// The packages of the workspace, each with those of them that it may use.
const MAY_USE: [(&str, &[&str]); 5] = [
    ("transformer-core", &[]),
    ("transformer-infer", &["transformer-core"]),
    (
        "transformer-train",
        &["transformer-core", "transformer-infer"],
    ),
    (
        "examples",
        &["transformer-core", "transformer-infer", "transformer-train"],
    ),
    ("xtask", &[]),
];

/// A place where a rule is broken.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    /// A file, with a line where there is one.
    place: String,
    /// What is wrong, and what to do about it.
    fault: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

/// Checks every rule, and prints all places where one is broken.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let rules = [
        sources::check,
        layers::check,
        folders::check,
        documents::check,
        paper::check,
    ];
    let mut problems: Vec<Problem> = rules.into_iter().flat_map(|rule| rule(&tree)).collect();
    problems.extend(one_build::check(root)?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => bail!("one rule is broken in one place"),
        n => bail!("rules are broken in {n} places"),
    }
}
