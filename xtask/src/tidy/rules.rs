//! The list of all rules, and the [`Problem`]s that they report; and the rule for source files: each begins with its purpose,
//! is short, and leaves backends to `device/`.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use super::tree::Tree;
use super::{chapters, documents, listings, one_build, paper};

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

pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let rules = [
        check_sources,
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

const MAX_LINES: usize = 450;

const BACKENDS: [&str; 8] = [
    "flex", "ndarray", "wgpu", "vulkan", "metal", "tch", "cuda", "rocm",
];

/// The only folder that may test for the features of backends.
const DEVICE: &str = "transformer-core/src/device/";

fn check_sources(tree: &Tree) -> Vec<Problem> {
    let files = tree.ending(".rs");
    files
        .flat_map(|(path, text)| check_file(path, text))
        .collect()
}

fn check_file(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        let message = "does not begin with `//!`; write what the file contains in its first line";
        problems.push(Problem::new(path, message));
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES {
        let message = format!("has {n_lines} lines; split it, the maximum is {MAX_LINES}");
        problems.push(Problem::new(path, message));
    }
    for (line, number) in text.lines().zip(1..).filter(|_| !path.starts_with(DEVICE)) {
        let has = |backend: &&str| line.contains(&format!("feature = \"{backend}\""));
        problems.extend(BACKENDS.into_iter().find(has).map(|backend| {
            let message = format!("tests for the feature `{backend}`; only {DEVICE} may");
            Problem::new(format!("{path}:{number}"), message)
        }));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let problems = check_sources(&Tree::of(&[(path, text)]));
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_file_without_a_first_line_is_found() {
        let faults = faults("a/b.rs", "use std::fs;\n");
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("a/b.rs: does not begin with"));
    }

    #[test]
    fn a_file_of_the_longest_length_passes() {
        assert!(faults("b.rs", &"//! b\n".repeat(MAX_LINES)).is_empty());
    }

    #[test]
    fn a_longer_file_is_found_with_its_length() {
        let faults = faults("b.rs", &"//! b\n".repeat(MAX_LINES + 1));
        assert_eq!(
            faults,
            ["b.rs: has 451 lines; split it, the maximum is 450"]
        );
    }

    #[test]
    fn a_backend_is_named_in_one_folder_only() {
        // Composed here, so that this line does not break the rule.
        let text = format!("//! x\n#[cfg({} = \"tch\")]\n", "feature");
        assert!(faults(&format!("{DEVICE}backend.rs"), &text).is_empty());
        let faults = faults("transformer-infer/src/main.rs", &text);
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].starts_with("transformer-infer/src/main.rs:2: tests for the feature `tch`")
        );
    }

    #[test]
    fn other_features_are_not_restricted() {
        let text = format!("//! x\n#[cfg({} = \"flexible\")]\n", "feature");
        assert!(faults("b.rs", &text).is_empty());
    }
}
