//! Result files, replaced only when the new content is complete.

use std::fs::{self, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};

/// Checks that a file can be written, without changing it.
pub(super) fn check(path: &Path) -> Result<()> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened
        .map(drop)
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// Replaces the content of a file atomically.
pub(super) fn replace(path: &Path, text: &str) -> Result<()> {
    // A link stays a link; a device, such as a terminal, is written to directly.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_special = path.exists() && !path.is_file();
    let written = match path.file_name() {
        Some(name) if !is_special => {
            let mut name = name.to_owned();
            name.push(format!(".new-{}", std::process::id()));
            let new = path.with_file_name(name);
            fs::write(&new, text).and_then(|()| fs::rename(&new, path))
        }
        _ => fs::write(path, text),
    };
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_file_stays_until_it_is_replaced() {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let path = folder.path().join("results.json");
        fs::write(&path, "old").expect("the folder is ours");
        check(&path).expect("the file can be written");
        let content = |path: &Path| fs::read_to_string(path).ok();
        assert_eq!(content(&path).as_deref(), Some("old"));
        replace(&path, "new").expect("the file can be written");
        assert_eq!(content(&path).as_deref(), Some("new"));
        let entries = fs::read_dir(&folder).expect("the folder is ours");
        assert_eq!(entries.count(), 1, "nothing else is left");
    }

    #[test]
    fn a_file_in_no_folder_is_refused() {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        assert!(check(&folder.path().join("none/results.json")).is_err());
    }
}
