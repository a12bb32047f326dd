//! Every source file begins with its purpose, is short, and leaves backends to `device/`.

use super::rules::Problem;
use super::tree::Tree;

/// Maximum number of lines of a source file.
const MAX_LINES: usize = 450;

/// The cargo features of the backends.
const BACKENDS: [&str; 8] = [
    "flex", "ndarray", "wgpu", "vulkan", "metal", "tch", "cuda", "rocm",
];

/// The only folder that may test for the features of backends.
const DEVICE: &str = "transformer-core/src/device/";

/// Checks every Rust file.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
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
        let problems = check(&Tree::of(&[(path, text)]));
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
