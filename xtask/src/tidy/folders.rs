//! The folders at the root: one for each member of the workspace, and a few that belong to no crate.

use std::collections::BTreeSet;

use super::problem::Problem;
use super::tree::Tree;

/// The folders that belong to no crate: the documents, and the Python that measures other software.
const OTHERS: [&str; 2] = ["benchmarks", "docs"];

/// Checks that the folders at the root are those of the members and [`OTHERS`].
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
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
    let missing = members.difference(&folders).map(|name| {
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
        let places: Vec<_> = check(&tree).into_iter().map(|it| it.location).collect();
        assert_eq!(places, ["scripts", "infer"]);
    }
}
