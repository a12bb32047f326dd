//! [`run`]: runs the programs, if it is asked to, and writes the pages; and the chapters of the book: its list, and their
//! text with the programs and outputs that they include.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::page;
use crate::process::{call, cargo, copy_folder, files, output, read, target_folder, write};
use crate::web;

const TITLE: &str = "The Transformer in Rust, step by step";

/// The folders, from the root.
const SOURCE: &str = "docs/book/chapters";
const PROGRAMS: &str = "examples/book/src/bin";

/// The folders below [`SOURCE`] with files that the pages load.
const COPIED: [&str; 2] = ["pictures", "interactive"];

/// The work beside writing the pages.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Runs every program, and writes what it prints and draws into the repository.
    #[arg(long, conflicts_with = "check")]
    update: bool,
    /// Runs every program, and compares what it prints and draws with the repository.
    #[arg(long)]
    check: bool,
    /// Runs only the programs with names that begin with this, for example `03`.
    #[arg(long, requires = "update")]
    only: Option<String>,
    /// Also trains the translator of chapter 19, and builds it into the chapter as `cargo xtask web` does; it needs a
    /// server of files, for example `python3 -m http.server --directory target/book`.
    #[arg(long)]
    live: bool,
}

/// The chapter's program that trains the translator, and where, from the root.
const TRANSLATOR: (&str, &str) = ("19_translator", "runs/book/translator");

/// Builds the book in the folder `book` of cargo's target folder. It needs nothing but this repository, except for
/// `--live`.
pub(crate) fn run(root: &Path, flags: &Flags) -> Result<()> {
    if flags.update {
        update(root, flags.only.as_deref().unwrap_or_default())?;
    }
    if flags.check {
        let mut tests = cargo(root, "test --locked -p book --test outputs");
        call(tests.env("RUN_SLOW_TESTS", "1"))?;
    }
    let source = root.join(SOURCE);
    let target = target_folder(root)?.join("book");
    let chapters = list(&source)?;
    let outside = relative(&target, &source);
    for folder in COPIED {
        copy_folder(&source.join(folder), &target.join(folder))?;
    }
    for (index, chapter) in chapters.iter().enumerate() {
        let text = text(&source, chapter)?;
        let html = page::render(TITLE, &chapters, index, &text, &outside);
        write(&target.join(format!("{}.html", chapter.name)), &html)?;
    }
    let folder = target.join("live");
    if flags.live {
        live(root, &folder)?;
    } else if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let first = target.join(format!("{}.html", chapters[0].name));
    println!("{} chapters; open {}", chapters.len(), first.display());
    Ok(())
}

/// Writes the page that translates in the browser, with the translator of the book.
fn live(root: &Path, folder: &Path) -> Result<()> {
    let (program, model) = TRANSLATOR;
    call(&mut cargo(
        root,
        &format!("run -q --locked -p book --bin {program}"),
    ))?;
    let flags = web::Flags {
        models: vec![root.join(model)],
        ..web::Flags::default()
    };
    web::write_page(root, &flags, folder)
}

/// Runs programs, and writes their outputs next to them and their pictures and data into the book.
fn update(root: &Path, prefix: &str) -> Result<()> {
    call(&mut cargo(root, "build -p book --bins"))?;
    let pictures = root.join(SOURCE).join("pictures");
    for program in files(&root.join(PROGRAMS))? {
        let name = program
            .file_stem()
            .context("a program has a name")?
            .to_string_lossy();
        if name.starts_with(prefix) && program.extension().is_some_and(|it| it == "rs") {
            println!("{name}");
            let mut run = cargo(root, &format!("run -q -p book --bin {name} --"));
            let printed = output(run.arg(&pictures))?;
            write(&program.with_extension("txt"), &printed)?;
        }
    }
    Ok(())
}

/// Returns the path from a folder to another, with slashes; both are absolute.
fn relative(from: &Path, to: &Path) -> String {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other);
    let n_shared = shared.count();
    let up = from.components().skip(n_shared).map(|_| "..".into());
    let down = to
        .components()
        .skip(n_shared)
        .map(|it| it.as_os_str().to_string_lossy());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chapter {
    pub(super) title: String,
    /// The file's name without `.md`.
    pub(super) name: String,
}

/// Reads the list of chapters: the lines `- [TITLE](NAME.md)` of `SUMMARY.md`.
fn list(source: &Path) -> Result<Vec<Chapter>> {
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
fn text(source: &Path, chapter: &Chapter) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_goes_up_to_the_shared_folder() {
        let path = relative(
            Path::new("/repository/target/book"),
            Path::new("/repository/docs/src"),
        );
        assert_eq!(path, "../../docs/src");
    }

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
