//! `cargo xtask quick`: the checks of what changed, in minutes; `cargo xtask ci` and the tests of the workspace follow.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use crate::process::{call, cargo, output, program_with, read, target_folder};
use crate::tidy;

/// The commit that the change is counted from.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// The commit with which the files are compared.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    base: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// Checks the format and the documents, and the packages that a change affects: lints and unit tests.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    let git = |arguments: &str| output(program_with("git", arguments).current_dir(root));
    let changed = git(&format!("diff --name-only --no-renames {}", flags.base))?;
    let changed = changed + &git("ls-files --others --exclude-standard")?;
    let changed: Vec<&str> = changed.lines().collect();
    call(&mut cargo(root, "fmt --all --check"))?;
    tidy::run(root)?;

    let metadata = output(&mut cargo(root, "metadata --no-deps --format-version=1"))?;
    let Metadata { packages } = serde_json::from_str(&metadata)?;
    let affected = affected(&packages, root, &changed);
    println!("==> packages that the change affects: {affected:?}");
    // The unit tests of a package with a library are there.
    let has_lib = |it: &Package| it.targets.iter().any(|it| it.kind == ["lib"]);
    let tested = |with_lib: bool| {
        let tested = packages.iter().filter(move |it| has_lib(it) == with_lib);
        let names = tested.map(|it| it.name.as_str());
        names.filter(|it| affected.contains(it)).collect::<Vec<_>>()
    };
    for (names, before, after) in [
        (
            affected.iter().copied().collect(),
            "clippy --all-targets",
            "-- -D warnings",
        ),
        (tested(true), "test --lib", ""),
        (tested(false), "test --bins", ""),
    ] {
        if !names.is_empty() {
            let mut checks = cargo(root, before);
            checks.arg("--locked");
            checks.args(names.iter().flat_map(|it| ["-p", it]));
            call(checks.args(after.split_whitespace()))?;
        }
    }

    let runner = read(&root.join(".ci/docs"))?;
    let is_run = |path: &&&str| path.ends_with(".md") && runner.contains(**path);
    let pages: Vec<&&str> = changed.iter().filter(is_run).collect();
    if !pages.is_empty() {
        let build = "build --locked --bins -p transformer-train -p transformer-infer";
        call(&mut cargo(root, build))?;
        let mut docs = Command::new(root.join(".ci/docs"));
        call(docs.arg(target_folder(root)?.join("debug")).args(pages))?;
    }
    println!("==> passed; before a commit: cargo xtask ci, cargo test --workspace");
    Ok(())
}

/// Returns the packages with changed files, and those that depend on them.
fn affected<'a>(packages: &'a [Package], root: &Path, changed: &[&str]) -> BTreeSet<&'a str> {
    // A manifest, lock file or configuration at the root concerns all.
    let is_shared = |path: &&str| {
        let is_settings = path.ends_with(".toml") || path.ends_with(".lock");
        is_settings && !path.contains('/')
    };
    if changed.iter().any(is_shared) {
        return packages.iter().map(|it| it.name.as_str()).collect();
    }
    let owner = |path: &&str| {
        let path = root.join(path);
        let folder = |it: &Package| Path::new(&it.manifest_path).parent().map(Path::to_path_buf);
        let owns = |it: &&Package| folder(it).is_some_and(|folder| path.starts_with(folder));
        let owners = packages.iter().filter(owns);
        owners.max_by_key(|it| it.manifest_path.len())
    };
    let owners = changed.iter().filter_map(owner);
    let mut affected: BTreeSet<&str> = owners.map(|it| it.name.as_str()).collect();
    loop {
        let is_affected = |it: &Dependency| affected.contains(it.name.as_str());
        let uses_some = |it: &&Package| it.dependencies.iter().any(is_affected);
        let users = packages.iter().filter(uses_some);
        let users: BTreeSet<&str> = users.map(|it| it.name.as_str()).collect();
        if users.is_subset(&affected) {
            return affected;
        }
        affected.extend(users);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packages that a change affects: `core ← infer ← infer/nested`, and `xtask`.
    fn names(changed: &str) -> Vec<String> {
        let package = |name: &str, folder: &str, dependency: Option<&str>| Package {
            name: name.to_owned(),
            manifest_path: format!("/r/{folder}/Cargo.toml"),
            dependencies: dependency
                .into_iter()
                .map(|it| Dependency {
                    name: it.to_owned(),
                })
                .collect(),
            targets: Vec::new(),
        };
        let packages = [
            package("nested", "infer/nested", Some("infer")),
            package("infer", "infer", Some("core")),
            package("core", "core", None),
            package("xtask", "xtask", None),
        ];
        let affected = affected(&packages, Path::new("/r"), &[changed]);
        affected.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_change_affects_its_package_and_those_that_depend_on_it() {
        assert_eq!(names("core/src/lib.rs"), ["core", "infer", "nested"]);
        assert_eq!(names("infer/src/lib.rs"), ["infer", "nested"]);
        assert_eq!(names("infer/nested/src/lib.rs"), ["nested"]);
    }

    #[test]
    fn a_document_affects_no_package_and_the_lock_file_all() {
        assert_eq!(names("docs/a.md"), [""; 0]);
        assert_eq!(names("Cargo.lock"), ["core", "infer", "nested", "xtask"]);
    }
}
