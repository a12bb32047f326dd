//! One build: no command makes cargo compile Burn a second time.
//!
//! Cargo unifies features over the packages of one command. If `transformer-train` enables a feature of a
//! third-party crate and `transformer-infer` does not, then training a model and translating with it
//! compile that crate, and everything that depends on it, twice: minutes instead of seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::rules::Problem;
use crate::process::{cargo, output};

/// For each third-party package, the sets of features with which it is built.
type Packages = BTreeMap<String, BTreeSet<String>>;

/// A package, or an empty name for all packages, and the kinds of dependencies.
type Selection = (&'static str, &'static str);

const PROGRAMS: &str = "normal,build";
const TESTS: &str = "normal,build,dev";

/// Returns pairs of selections: the second must build everything that the first builds.
fn pairs() -> impl Iterator<Item = [Selection; 2]> {
    let programs = ["transformer-train", "examples", "book"];
    let tested = ["transformer-core", "transformer-infer", "transformer-train"];
    let infer = ("transformer-infer", PROGRAMS);
    [
        [infer, ("transformer-train", PROGRAMS)],
        [("", PROGRAMS), ("", TESTS)],
    ]
    .into_iter()
    .chain(programs.map(|it| [(it, PROGRAMS), ("", PROGRAMS)]))
    .chain(tested.map(|it| [(it, TESTS), ("", TESTS)]))
}

pub(super) fn check(root: &Path) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for [narrow, wide] in pairs() {
        for difference in differences(&packages(root, narrow)?, &packages(root, wide)?) {
            let location = format!("Cargo.toml of {}", describe(narrow));
            let message = format!("{difference} for {}", describe(wide));
            problems.push(Problem::new(location, message));
        }
    }
    Ok(problems)
}

fn describe((package, edges): Selection) -> String {
    let package = if package.is_empty() {
        "the workspace"
    } else {
        package
    };
    let tests = if edges == TESTS { " with tests" } else { "" };
    format!("{package}{tests}")
}

fn packages(root: &Path, (package, edges): Selection) -> Result<Packages> {
    // With a target, cargo separates dependencies for the host from those for the target. Without one, it shows a
    // package that is used for both with the dependencies of either.
    let arguments =
        format!("tree --locked --prefix=none -f={{p}}|{{f}} --target=host-tuple -e {edges}");
    let mut tree = cargo(root, &arguments);
    match package {
        "" => tree.arg("--workspace"),
        _ => tree.args(["-p", package]),
    };
    Ok(parse(&output(&mut tree)?))
}

/// Reads lines like `name v1.2.3 (proc-macro)|feature,feature (*)`; packages of the workspace have a path.
fn parse(tree: &str) -> Packages {
    let mut packages = Packages::new();
    for line in tree.lines() {
        let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') else {
            continue;
        };
        if !package.trim_end_matches(" (proc-macro)").ends_with(')') {
            let sets = packages.entry(package.to_owned()).or_default();
            sets.insert(features.to_owned());
        }
    }
    packages
}

/// Returns the packages that the narrower selection would build again.
fn differences(narrow: &Packages, wide: &Packages) -> Vec<String> {
    let list = |sets: &BTreeSet<String>| sets.iter().cloned().collect::<Vec<_>>().join("] [");
    // Packages that the wider one lacks are compiled in addition, and Burn does not depend on them.
    let shared = narrow
        .iter()
        .filter_map(|(package, sets)| Some((package, sets, wide.get(package)?)));
    // An additional set belongs to a build script or a macro of packages that the wider one does not have.
    let again = shared.filter(|(_, sets, known)| !sets.is_subset(known) && !known.is_subset(sets));
    again
        .map(|(package, sets, known)| {
            let (sets, known) = (list(sets), list(known));
            format!("{package} is built with the features [{sets}], but with [{known}]")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_packages_and_repetitions_are_left_out() {
        let tree = "transformer-core v0.1.0 (/x)|default,flex\nserde v1.0.2|derive,std\n\
                    serde v1.0.2|derive,std (*)\nserde_derive v1.0.2 (proc-macro)|\n\n";
        let expected = [
            ("serde v1.0.2", "derive,std"),
            ("serde_derive v1.0.2 (proc-macro)", ""),
        ];
        let expected =
            expected.map(|(package, set)| (package.to_owned(), BTreeSet::from([set.to_owned()])));
        assert_eq!(parse(tree), Packages::from(expected));
    }

    #[test]
    fn the_same_features_are_one_build() {
        let wide = parse("burn v1.0.0|flex,std\nclap v4.0.0|derive\n");
        assert!(differences(&parse("burn v1.0.0|flex,std\n"), &wide).is_empty());
    }

    #[test]
    fn a_further_package_is_no_second_build() {
        let wide = parse("burn v1.0.0|flex,std\n");
        assert!(differences(&parse("axum v0.8.0|json\n"), &wide).is_empty());
    }

    #[test]
    fn fewer_features_are_a_second_build() {
        let wide = parse("burn v1.0.0|flex,std\n");
        assert_eq!(
            differences(&parse("burn v1.0.0|std\n"), &wide),
            ["burn v1.0.0 is built with the features [std], but with [flex,std]"]
        );
    }
}
