//! Which crate may use which: `transformer-core ← transformer-infer ← transformer-train ← examples`.

use super::problem::Problem;
use super::tree::{TextFile, Tree};

/// The packages of the workspace, each with those of them that it may use.
pub(super) const MAY_USE: [(&str, &[&str]); 5] = [
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

/// Folders of the core, each with what it must not import.
const APART: [(&str, &str); 2] = [
    ("transformer-core/src/text/", "burn"),
    ("transformer-core/src/model/", "crate::text"),
];

/// Checks the dependencies in manifests and the imports in sources.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (package, may_use) in MAY_USE {
        let is_forbidden = |other: &str| {
            other != package
                && MAY_USE.iter().any(|(name, _)| *name == other)
                && !may_use.contains(&other)
        };
        let folder = format!("{package}/");
        let of_package = |file: &&TextFile| file.path.starts_with(&folder);
        for TextFile { path, text } in tree.ending("/Cargo.toml").filter(of_package) {
            let used = dependencies(text).filter(|(_, name)| is_forbidden(name));
            problems.extend(used.map(|(line, name)| Problem {
                location: format!("{path}:{line}"),
                message: format!("{package} must not depend on {name}"),
            }));
        }
        for TextFile { path, text } in tree.ending(".rs").filter(of_package) {
            let used = imports(text).filter(|(_, import)| {
                let root = import.split("::").next().unwrap_or_default();
                is_forbidden(&root.replace('_', "-"))
            });
            problems.extend(used.map(|(line, import)| Problem {
                location: format!("{path}:{line}"),
                message: format!("{package} must not use `{import}`"),
            }));
        }
    }
    problems.extend(check_folders(tree));
    problems
}

fn check_folders(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (folder, forbidden) in APART {
        let of_folder = |file: &&TextFile| file.path.starts_with(folder);
        for TextFile { path, text } in tree.ending(".rs").filter(of_folder) {
            let used = imports(text).filter(|(_, import)| {
                let rest = import.strip_prefix(forbidden);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            });
            problems.extend(used.map(|(line, import)| Problem {
                location: format!("{path}:{line}"),
                message: format!("{folder} must not import `{forbidden}`, but imports `{import}`"),
            }));
        }
    }
    problems
}

/// Returns all dependencies of a manifest (normal, build and dev), each with its line.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_dependencies = false;
    manifest.lines().zip(1..).filter_map(move |(line, number)| {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            in_dependencies = header.ends_with("dependencies");
            let named = header.split_once("dependencies.").map(|(_, name)| name);
            return named.map(|name| (number, name));
        }
        let name = line.split(['.', '=', ' ']).next()?;
        let is_name = in_dependencies && !name.is_empty() && !name.starts_with('#');
        is_name.then_some((number, name))
    })
}

/// Returns the imports of a source file, each with its line: `a::b` of `pub use a::b::{c, d};`.
fn imports(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().zip(1..).filter_map(|(line, number)| {
        let line = line.trim();
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest.split_once(' ').map_or(line, |(_, rest)| rest),
            None => line,
        };
        let import = line.strip_prefix("use ")?;
        let import = import.split([' ', '{', ';']).next()?;
        Some((number, import.trim_end_matches("::")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        Tree::faults_of(check, path, text)
    }

    #[test]
    fn a_lower_layer_must_not_depend_on_a_higher_one() {
        let manifest = "[package]\nname = \"transformer-core\"\n\n[dev-dependencies]\n\
                        transformer-train.workspace = true\n";
        assert_eq!(
            faults("transformer-core/Cargo.toml", manifest),
            [
                "transformer-core/Cargo.toml:5: transformer-core must not depend on transformer-train"
            ]
        );
    }

    #[test]
    fn a_higher_layer_may_depend_on_a_lower_one() {
        let manifest = "[dependencies]\ntransformer-infer = { workspace = true }\nburn = \"1\"\n";
        assert!(faults("transformer-train/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn features_with_the_name_of_a_crate_are_no_dependencies() {
        let manifest = "[features]\nexamples = []\n";
        assert!(faults("transformer-core/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn dependencies_with_a_table_of_their_own_are_found() {
        let manifest = "[target.'cfg(unix)'.dependencies.examples]\npath = \"../examples\"\n";
        let found: Vec<_> = dependencies(manifest).collect();
        assert_eq!(found, [(1, "examples")]);
    }

    #[test]
    fn imports_are_checked_as_well() {
        let source = "//! x\n    pub(crate) use transformer_infer::search::{Search, greedy};\n";
        assert_eq!(
            faults("transformer-core/src/lib.rs", source),
            [
                "transformer-core/src/lib.rs:2: transformer-core must not use \
                 `transformer_infer::search`"
            ]
        );
    }

    #[test]
    fn a_crate_may_import_itself() {
        let source = "use transformer_infer::Translator;\n";
        assert!(faults("transformer-infer/tests/it/main.rs", source).is_empty());
    }

    #[test]
    fn text_must_not_import_burn() {
        let source = "use burn::tensor::Tensor;\nuse burner::Oven;\n";
        let faults = faults("transformer-core/src/text/bpe.rs", source);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("transformer-core/src/text/bpe.rs:1: "));
    }

    #[test]
    fn the_model_must_not_import_text() {
        let source = "use crate::text::PAD;\n";
        assert_eq!(
            faults("transformer-core/src/model/mask.rs", source).len(),
            1
        );
    }
}
