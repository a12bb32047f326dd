//! The layout of folders.
//!
//! - A folder at the root is a member of the workspace, or one of a few others. Another member is inside one.
//! - No `name.rs` is beside `name/`: a folder's table of contents is its `mod.rs`.
//! - A `src` with many entries has to be divided into folders.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::Problem;
use super::tree::Tree;

/// The folders that belong to no crate: the documents, and the Python that measures other software.
const OTHERS: [&str; 2] = ["benchmarks", "docs"];

/// The most entries of a crate's `src`, with `lib.rs` and `main.rs`.
const MAX_ENTRIES: usize = 14;

/// Checks the layout.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = at_root(tree);
    problems.extend(beside_folders(tree));
    problems.extend(crowded(tree));
    problems
}

/// Checks that the folders at the root are those of the members and [`OTHERS`].
fn at_root(tree: &Tree) -> Vec<Problem> {
    let manifest = tree.files.iter().find(|file| file.path == "Cargo.toml");
    let members: BTreeSet<&str> = manifest.map_or_else(BTreeSet::new, |it| members(&it.text));
    let folders: BTreeSet<&str> = tree
        .folders
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with('.'))
        .collect();
    let unknown = folders
        .iter()
        .filter(|&&name| !OTHERS.contains(&name) && !members.contains(name))
        .map(|name| {
            (
                name,
                "is neither a member of the workspace nor one of the other folders",
            )
        });
    // A package may be in the folder of another, as the book is in that of the examples.
    let is_inside = |name: &str| {
        name.split_once('/')
            .is_some_and(|(outer, _)| members.contains(outer))
    };
    let missing = members.difference(&folders).filter(|name| !is_inside(name));
    let missing = missing.map(|name| {
        (
            name,
            "is a member of the workspace, but no folder at the root",
        )
    });
    unknown
        .chain(missing)
        .map(|(name, fault)| Problem {
            location: (*name).to_owned(),
            message: fault.to_owned(),
        })
        .collect()
}

/// Finds each `name.rs` beside a folder `name/`.
fn beside_folders(tree: &Tree) -> impl Iterator<Item = Problem> {
    let files = tree.ending(".rs").map(|file| file.path.as_str());
    let beside = files.filter(|path| {
        let folder = path.strip_suffix(".rs");
        folder.is_some_and(|folder| tree.paths.contains(folder))
    });
    beside.map(|path| Problem {
        location: path.to_owned(),
        message: "is beside the folder of the same name; make it the folder's mod.rs".to_owned(),
    })
}

/// Finds each `src` with more than [`MAX_ENTRIES`].
fn crowded(tree: &Tree) -> impl Iterator<Item = Problem> {
    let mut n_entries: BTreeMap<&str, usize> = BTreeMap::new();
    for path in &tree.paths {
        if let Some((folder, _)) = path.rsplit_once('/')
            && folder.ends_with("/src")
        {
            *n_entries.entry(folder).or_default() += 1;
        }
    }
    let crowded = n_entries.into_iter().filter(|(_, n)| *n > MAX_ENTRIES);
    crowded.map(|(folder, n)| Problem {
        location: folder.to_owned(),
        message: format!("has {n} entries; group them in folders, the maximum is {MAX_ENTRIES}"),
    })
}

/// Returns the members that the workspace's manifest names.
fn members(manifest: &str) -> BTreeSet<&str> {
    let list = manifest
        .split_once("\nmembers")
        .and_then(|(_, rest)| rest.split_once('['))
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\nmembers = [\"core\",\n    \"infer\",\n]\n";

    #[test]
    fn members_docs_and_benchmarks_may_be_at_the_root() {
        let tree = Tree::of(&[
            ("Cargo.toml", MANIFEST),
            ("core/a.rs", ""),
            ("infer/b.rs", ""),
            ("docs/c.md", ""),
            ("benchmarks/d.py", ""),
            (".ci/run", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn other_folders_and_missing_members_are_found() {
        let tree = Tree::of(&[
            ("Cargo.toml", MANIFEST),
            ("core/a.rs", ""),
            ("scripts/b.py", ""),
        ]);
        let locations: Vec<_> = check(&tree).into_iter().map(|it| it.location).collect();
        assert_eq!(locations, ["scripts", "infer"]);
    }

    #[test]
    fn a_file_beside_the_folder_of_its_name_is_found() {
        let tree = Tree::of(&[
            ("a/src/b.rs", ""),
            ("a/src/b/mod.rs", ""),
            ("a/src/c.rs", ""),
        ]);
        let locations: Vec<_> = beside_folders(&tree).map(|it| it.location).collect();
        assert_eq!(locations, ["a/src/b.rs"]);
    }

    #[test]
    fn a_crowded_src_is_found() {
        let entries = |n: usize| -> Vec<String> {
            (0..n).map(|index| format!("a/src/f{index}.rs")).collect()
        };
        let problems = |n: usize| {
            let paths = entries(n);
            let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
            crowded(&Tree::of(&files)).count()
        };
        assert_eq!((problems(MAX_ENTRIES), problems(MAX_ENTRIES + 1)), (0, 1));
    }
}
