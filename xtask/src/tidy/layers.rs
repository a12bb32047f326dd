//! Which crate may use which: `transformer-core ← transformer-infer ← transformer-train ← examples`.

use super::problem::Problem;
use super::tokens::{Token, tokens};
use super::tree::{TextFile, Tree};

/// The packages of the workspace, each with those of them that it may use.
pub(super) const MAY_USE: [(&str, &[&str]); 6] = [
    ("transformer-core", &[]),
    ("transformer-infer", &["transformer-core"]),
    (
        "transformer-train",
        &["transformer-core", "transformer-infer"],
    ),
    (
        "examples",
        &[
            "transformer-core",
            "transformer-infer",
            "transformer-train",
            // Its programs import its library.
            "book",
        ],
    ),
    // In the folder of the examples, whose rules hold for it.
    ("book", &[]),
    ("xtask", &[]),
];

/// The folder that knows no tensors, and the crate that it must not use.
const WITHOUT_TENSORS: (&str, &str) = ("transformer-core/src/text/", "burn");

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
            problems.extend(crates_in(text).into_iter().filter_map(|name| {
                let is_refused = is_forbidden(&name.text.replace('_', "-"));
                is_refused.then(|| refused(package, path, name))
            }));
        }
    }
    let (folder, other) = WITHOUT_TENSORS;
    let of_folder = |file: &&TextFile| file.path.starts_with(folder);
    for TextFile { path, text } in tree.ending(".rs").filter(of_folder) {
        let names = crates_in(text).into_iter();
        let used = names.filter(|name| name.text == other);
        problems.extend(used.map(|name| refused(folder, path, name)));
    }
    problems
}

fn refused(user: &str, path: &str, name: Token<'_>) -> Problem {
    Problem {
        location: format!("{path}:{}", name.line),
        message: format!("{user} must not use `{}`", name.text),
    }
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

/// Returns the names with which paths begin, in imports and inline.
fn crates_in(source: &str) -> Vec<Token<'_>> {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |it| it.text);
    let begins_path = |at: usize| {
        let is_inside = at > 1 && text(at - 1) == "::" && tokens[at - 2].is_name();
        let is_import = at > 0 && ["use", "crate"].contains(&text(at - 1));
        is_import || (!is_inside && text(at + 1) == "::")
    };
    let begins = (0..tokens.len()).filter(|&at| tokens[at].is_name() && begins_path(at));
    begins.map(|at| tokens[at]).collect()
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
            ["transformer-core/src/lib.rs:2: transformer-core must not use `transformer_infer`"]
        );
    }

    #[test]
    fn a_crate_may_import_itself() {
        let source = "use transformer_infer::Translator;\n";
        assert!(faults("transformer-infer/tests/it/main.rs", source).is_empty());
    }

    #[test]
    fn text_must_not_use_burn_in_imports_and_inline() {
        let source = "use burn as b;\nuse {burn::tensor, burner::Oven};\nuse crate::burn::A;\n\
                      fn f(x: Option<::burn::B>) { a::burn::g(\"burn::C\") } // burn::D\n";
        let faults = faults("transformer-core/src/text/bpe.rs", source);
        let line = |n| {
            format!(
                "transformer-core/src/text/bpe.rs:{n}: transformer-core/src/text/ must not use `burn`"
            )
        };
        assert_eq!(faults, [line(1), line(2), line(4)]);
    }
}
