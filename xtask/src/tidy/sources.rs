//! What every source file keeps to: it says what it is, it is short, it names no backend.

use super::problem::Problem;
use super::tree::{TextFile, Tree};

/// The longest source file, in lines.
const MAX_LINES: usize = 450;

/// The cargo features that are backends.
const BACKENDS: [&str; 8] = [
    "flex", "ndarray", "wgpu", "vulkan", "metal", "tch", "cuda", "rocm",
];

/// A file that no one reads from top to bottom: it is generated.
const GENERATED: &str = "transformer-train/src/config/keys.rs";

/// The only folder that may ask which backends there are.
const DEVICE: &str = "transformer-core/src/device/";

/// Checks every Rust file.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.ending(".rs").flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Problem> {
    let TextFile { path, text } = file;
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push(Problem {
            location: path.clone(),
            message: "does not begin with `//!`; say in its first line what lives there".to_owned(),
        });
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES && path != GENERATED {
        problems.push(Problem {
            location: path.clone(),
            message: format!("has {n_lines} lines; split it, {MAX_LINES} are the most"),
        });
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(backend) = backend_in(line).filter(|_| !path.starts_with(DEVICE)) {
            problems.push(Problem {
                location: format!("{path}:{}", index + 1),
                message: format!("asks for the backend `{backend}`; only {DEVICE} may"),
            });
        }
    }
    problems
}

/// Returns the backend whose feature a line asks for.
fn backend_in(line: &str) -> Option<&'static str> {
    let asks = |backend: &&str| line.contains(&format!("feature = \"{backend}\""));
    BACKENDS.into_iter().find(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        Tree::faults_of(check, path, text)
    }

    #[test]
    fn a_file_that_does_not_say_what_it_is_is_found() {
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
        assert_eq!(faults, ["b.rs: has 451 lines; split it, 450 are the most"]);
    }

    #[test]
    fn a_backend_is_named_in_one_folder_only() {
        // Put together here, so that this line does not break the rule itself.
        let text = format!("//! x\n#[cfg({} = \"tch\")]\n", "feature");
        assert!(faults(&format!("{DEVICE}backend.rs"), &text).is_empty());
        let faults = faults("transformer-infer/src/main.rs", &text);
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].starts_with("transformer-infer/src/main.rs:2: asks for the backend `tch`")
        );
    }

    #[test]
    fn other_features_are_nobodys_business() {
        let text = format!("//! x\n#[cfg({} = \"flexible\")]\n", "feature");
        assert!(faults("b.rs", &text).is_empty());
    }
}
