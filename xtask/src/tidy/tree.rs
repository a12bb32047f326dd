//! [`Tree`]: the files of the repository, read once for all rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::output;

/// Size in bytes above which a file is data rather than text.
const MAX_TEXT: u64 = 1 << 20;

/// The files of the repository, except those that git ignores. Paths are from the root, with slashes.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The contents of the text files, by their paths.
    pub(super) files: BTreeMap<String, String>,
    /// The path of every file and folder.
    pub(super) paths: BTreeSet<String>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let mut tree = Self::default();
        for path in output(git.current_dir(root))?.split_terminator('\0') {
            let file = root.join(path);
            // git lists a deleted file until the deletion is staged.
            let Ok(metadata) = file.symlink_metadata() else {
                continue;
            };
            tree.add(path);
            if metadata.is_file() && metadata.len() <= MAX_TEXT {
                let content =
                    fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
                let text = String::from_utf8(content).ok();
                tree.files.extend(text.map(|text| (path.to_owned(), text)));
            }
        }
        Ok(tree)
    }

    /// Returns the paths and contents of the text files with paths that end with `end`.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self
            .files
            .iter()
            .filter(move |(path, _)| path.ends_with(end));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the content of a text file; empty if there is none.
    pub(super) fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    fn add(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|it| it.0).chain([path.len()]);
        self.paths.extend(ends.map(|end| path[..end].to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    impl Tree {
        /// Makes a tree of text files.
        pub(in crate::tidy) fn of(files: &[(&str, &str)]) -> Self {
            let mut tree = Self::default();
            for (path, text) in files {
                tree.add(path);
                tree.files.insert((*path).to_owned(), (*text).to_owned());
            }
            tree
        }
    }

    #[test]
    fn this_file_is_read_and_what_git_ignores_is_not() -> Result<()> {
        let tree = Tree::read(&crate::root())?;
        assert!(
            tree.text("xtask/src/tidy/tree.rs")
                .contains("this_file_is_read")
        );
        assert!(tree.paths.contains("xtask/src"));
        assert!(!tree.paths.contains(".git") && !tree.paths.contains("target"));
        Ok(())
    }
}
