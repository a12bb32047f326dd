//! The chapters of the book: its list, and their text with the programs and outputs that they include.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The line by which a chapter includes a file, as in mdBook: before and after the path.
const INCLUDE: (&str, &str) = ("{{#include ", "}}");

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
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let chapters: Vec<Chapter> = text.lines().filter_map(entry).collect();
    ensure!(
        !chapters.is_empty(),
        "`{}` lists no chapter `- [TITLE](NAME.md)`",
        path.display()
    );
    Ok(chapters)
}

fn entry(line: &str) -> Option<Chapter> {
    let line = line.trim_start_matches(['-', ' ']);
    let (title, target) = line.strip_prefix('[')?.split_once("](")?;
    let name = target.strip_suffix(")")?.strip_suffix(".md")?;
    Some(Chapter {
        title: title.to_owned(),
        name: name.to_owned(),
    })
}

/// Reads a chapter, and replaces each line `{{#include PATH}}` by the file, whose path is relative to the chapter.
pub(super) fn text(source: &Path, chapter: &Chapter) -> Result<String> {
    let path = source.join(format!("{}.md", chapter.name));
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let mut text = String::new();
    for (line, number) in read(&path)?.lines().zip(1..) {
        match included(line) {
            Some(file) => {
                let file = read(&source.join(file));
                text += file
                    .with_context(|| format!("{}:{number}", path.display()))?
                    .trim_end();
            }
            None => text += line,
        }
        text.push('\n');
    }
    Ok(text)
}

fn included(line: &str) -> Option<&str> {
    line.strip_prefix(INCLUDE.0)?.strip_suffix(INCLUDE.1)
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
