//! The chapters of the book: its list, and their text with the programs and outputs that they include.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// A chapter of the book.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chapter {
    /// The title in the list.
    pub(super) title: String,
    /// The file's name without `.md`.
    pub(super) name: String,
}

/// Reads the list of chapters: the lines `- [TITLE](NAME.md)` of `SUMMARY.md`.
pub(super) fn list(source: &Path) -> Result<Vec<Chapter>> {
    let path = source.join("SUMMARY.md");
    let chapters: Vec<Chapter> = read(&path)?.lines().filter_map(entry).collect();
    let path = path.display();
    ensure!(
        !chapters.is_empty(),
        "`{path}` lists no chapter `- [TITLE](NAME.md)`"
    );
    Ok(chapters)
}

fn entry(line: &str) -> Option<Chapter> {
    let line = line.trim_start_matches(['-', ' ']);
    let (title, target) = line.strip_prefix('[')?.split_once("](")?;
    let (title, name) = (title.to_owned(), target.strip_suffix(".md)")?.to_owned());
    Some(Chapter { title, name })
}

/// Reads a chapter, and replaces each line `{{#include PATH}}` by the file. The path is relative to the chapter.
pub(super) fn text(source: &Path, chapter: &Chapter) -> Result<String> {
    let path = source.join(format!("{}.md", chapter.name));
    let mut text = String::new();
    for (line, number) in read(&path)?.lines().zip(1..) {
        let file = included(line).map(|file| read(&source.join(file)));
        let file = file
            .transpose()
            .with_context(|| format!("{}:{number}", path.display()))?;
        text += file.as_deref().map_or(line, str::trim_end);
        text.push('\n');
    }
    Ok(text)
}

/// Returns the path in a line that includes a file, as in mdBook.
pub(crate) fn included(line: &str) -> Option<&str> {
    line.strip_prefix("{{#include ")?.strip_suffix("}}")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_a_title_and_a_file() {
        let chapter = entry("- [1. Tokens](01_tokens.md)");
        let expected = Chapter {
            title: "1. Tokens".to_owned(),
            name: "01_tokens".to_owned(),
        };
        assert_eq!(chapter, Some(expected));
        assert_eq!(entry("# Summary"), None);
    }

    #[test]
    fn only_whole_lines_include() {
        assert_eq!(included("{{#include ../a.rs}}"), Some("../a.rs"));
        assert_eq!(included("write {{#include ../a.rs}}"), None);
    }
}
