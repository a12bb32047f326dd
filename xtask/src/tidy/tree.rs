//! [`Tree`]: the files of the repository, read once for all rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Larger files, in bytes, are data and not text.
const MAX_TEXT: u64 = 1 << 20;

/// The files of the repository, except those that git ignores.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The text files.
    pub(super) files: Vec<TextFile>,
    /// The path of every file and folder from the root, with slashes.
    pub(super) paths: BTreeSet<String>,
    /// The folders at the root.
    pub(super) folders: BTreeSet<String>,
}

/// A file and its content.
#[derive(Debug)]
pub(super) struct TextFile {
    /// The path from the root, with slashes.
    pub(super) path: String,
    /// The content.
    pub(super) text: String,
}

impl Tree {
    /// Reads the repository.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let ignore = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut tree = Self::default();
        tree.add_folder(root, "", &ignored(&ignore))?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Returns the text files whose paths end with `end`.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(move |it| it.path.ends_with(end))
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str, skipped: &[&str]) -> Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if skipped.contains(&path.as_str()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if prefix.is_empty() {
                    self.folders.insert(name);
                }
                self.add_folder(&entry.path(), &format!("{path}/"), skipped)?;
            } else if kind.is_file() && entry.metadata()?.len() <= MAX_TEXT {
                let content = fs::read(entry.path())
                    .with_context(|| format!("cannot read `{}`", entry.path().display()))?;
                if let Ok(text) = String::from_utf8(content) {
                    let path = path.clone();
                    self.files.push(TextFile { path, text });
                }
            }
            self.paths.insert(path);
        }
        Ok(())
    }
}

/// Returns the entries at the root that a `.gitignore` lists, and git's own folder.
fn ignored(gitignore: &str) -> Vec<&str> {
    let names = gitignore
        .lines()
        .filter_map(|line| line.trim().strip_prefix('/'));
    let names = names.map(|name| name.trim_end_matches('/'));
    names.chain([".git"]).collect()
}

#[cfg(test)]
impl Tree {
    /// Makes a tree of text files.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            let mut ancestors: Vec<&str> =
                path.match_indices('/').map(|it| &path[..it.0]).collect();
            tree.folders
                .extend(ancestors.first().map(|&it| it.to_owned()));
            ancestors.push(path);
            tree.paths.extend(ancestors.into_iter().map(str::to_owned));
            tree.files.push(TextFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            });
        }
        tree
    }

    /// Returns the problems that a rule finds in a repository with one file.
    pub(super) fn faults_of(
        rule: fn(&Self) -> Vec<super::problem::Problem>,
        path: &str,
        text: &str,
    ) -> Vec<String> {
        let problems = rule(&Self::of(&[(path, text)]));
        problems.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_entries_of_the_root_are_skipped() {
        assert_eq!(
            ignored("/target\n*.orig\n/runs/\n"),
            ["target", "runs", ".git"]
        );
    }

    #[test]
    fn this_file_is_read() -> Result<()> {
        let tree = Tree::read(&crate::root())?;
        let this = tree
            .files
            .iter()
            .find(|file| file.path == "xtask/src/tidy/tree.rs");
        assert!(this.is_some_and(|file| file.text.contains("this_file_is_read")));
        assert!(tree.paths.contains("xtask/src"));
        assert!(!tree.folders.contains(".git"));
        Ok(())
    }
}
