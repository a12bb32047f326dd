//! One build: no command makes cargo compile Burn a second time.
//!
//! Cargo unifies features over the packages of one command. If `transformer-train` enables a feature of a
//! third-party crate and `transformer-infer` does not, then training a model and translating with it
//! compile that crate, and everything that depends on it, twice: minutes instead of seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::layers::MAY_USE;
use super::problem::Problem;
use crate::process::{cargo, output};

/// For each third-party package, the sets of features that it is built with.
type Packages = BTreeMap<String, BTreeSet<String>>;

/// The packages of one command.
#[derive(Clone, Copy)]
struct Selection {
    /// One package, or all.
    package: Option<&'static str>,
    /// The kinds of dependencies.
    edges: &'static str,
}

const PROGRAMS: &str = "normal,build";
const TESTS: &str = "normal,build,dev";

/// Pairs of selections: the second must build everything that the first builds.
const WITHIN: [[Selection; 2]; 8] = [
    [
        of("transformer-infer", PROGRAMS),
        of("transformer-train", PROGRAMS),
    ],
    [of("transformer-train", PROGRAMS), all(PROGRAMS)],
    [of("examples", PROGRAMS), all(PROGRAMS)],
    [of("book", PROGRAMS), all(PROGRAMS)],
    [all(PROGRAMS), all(TESTS)],
    [of("transformer-core", TESTS), all(TESTS)],
    [of("transformer-infer", TESTS), all(TESTS)],
    [of("transformer-train", TESTS), all(TESTS)],
];

const fn of(package: &'static str, edges: &'static str) -> Selection {
    Selection {
        package: Some(package),
        edges,
    }
}

const fn all(edges: &'static str) -> Selection {
    Selection {
        package: None,
        edges,
    }
}

/// Compares what cargo would build for each pair.
pub(super) fn check(root: &Path) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for [narrow, wide] in WITHIN {
        let (narrow_packages, wide_packages) = (narrow.packages(root)?, wide.packages(root)?);
        for difference in differences(&narrow_packages, &wide_packages) {
            problems.push(Problem {
                location: format!("Cargo.toml of {}", narrow.describe()),
                message: format!("{difference} for {}", wide.describe()),
            });
        }
    }
    Ok(problems)
}

impl Selection {
    fn describe(self) -> String {
        let tests = if self.edges == TESTS {
            " with tests"
        } else {
            ""
        };
        format!("{}{tests}", self.package.unwrap_or("the workspace"))
    }

    fn packages(self, root: &Path) -> Result<Packages> {
        let selection = match self.package {
            Some(package) => vec!["-p", package],
            None => vec!["--workspace"],
        };
        let mut tree = cargo(root);
        tree.args([
            "tree", "--locked", "--prefix", "none", "-f", "{p}|{f}", "-e", self.edges,
        ])
        // With a target, cargo tells apart what runs here from what only builds: without one it
        // shows a package that is used for both with the dependencies of either.
        .args(["--target", "host-tuple"])
        .args(selection);
        Ok(parse(&output(&mut tree)?))
    }
}

/// Reads lines like `name v1.2.3 (proc-macro)|feature,feature (*)`.
fn parse(tree: &str) -> Packages {
    let mut packages = Packages::new();
    for line in tree.lines() {
        let line = line.trim_end_matches(" (*)");
        let Some((package, features)) = line.split_once('|') else {
            continue;
        };
        let name = package.split(' ').next().unwrap_or_default();
        if MAY_USE.iter().all(|(own, _)| *own != name) {
            let sets = packages.entry(package.to_owned()).or_default();
            sets.insert(features.to_owned());
        }
    }
    packages
}

/// Returns the packages that the narrower selection would build again.
fn differences(narrow: &Packages, wide: &Packages) -> Vec<String> {
    let mut differences = Vec::new();
    for (package, sets) in narrow {
        // What the wider one does not use is compiled in addition, and Burn does not depend on it.
        let Some(known) = wide.get(package) else {
            continue;
        };
        let list = |sets: &BTreeSet<String>| sets.iter().cloned().collect::<Vec<_>>().join("] [");
        if !sets.is_subset(known) {
            differences.push(format!(
                "{package} is built with the features [{}], but with [{}]",
                list(sets),
                list(known)
            ));
        }
    }
    differences
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
