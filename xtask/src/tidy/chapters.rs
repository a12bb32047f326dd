//! The chapters of the book, its list and its programs agree.
//!
//! - Every file that a chapter includes exists, and so do the scripts and data of its interactive parts.
//! - Every chapter is in the list.
//! - Every program is in a chapter, with its output.

use super::documents::resolve;
use super::rules::Problem;
use super::tree::Tree;
use crate::book_pages::{included as included_path, interactive};

/// The folder of the chapters, and their list.
const CHAPTERS: &str = "docs/book/chapters/";
const LIST: &str = "docs/book/chapters/SUMMARY.md";

const PROGRAMS: &str = "examples/book/src/bin/";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut included = Vec::new();
    let is_chapter = |(path, _): &(&str, &str)| path.starts_with(CHAPTERS);
    for (chapter, text) in tree.ending(".md").filter(is_chapter) {
        for (line, number) in text.lines().zip(1..) {
            let mut report =
                |message| problems.push(Problem::new(format!("{chapter}:{number}"), message));
            let scripts = interactive(line).into_iter();
            scripts
                .map(|it| format!("{CHAPTERS}{it}"))
                .filter(|path| !tree.paths.contains(path))
                .for_each(|path| report(format!("needs `{path}`, which does not exist")));
            if let Some(path) = included_path(line) {
                match resolve(CHAPTERS, path).filter(|path| tree.paths.contains(path)) {
                    Some(path) => included.push(path),
                    None => report(format!("includes `{path}`, which does not exist")),
                }
            }
        }
    }
    for (chapter, _) in tree.ending(".md").filter(is_chapter) {
        let name = chapter.trim_start_matches(CHAPTERS);
        if chapter != LIST && !tree.text(LIST).contains(&format!("]({name})")) {
            problems.push(Problem::new(chapter, format!("is not in {LIST}")));
        }
    }
    for (program, _) in tree
        .ending(".rs")
        .filter(|(path, _)| path.starts_with(PROGRAMS))
    {
        for path in [program.to_owned(), program.replace(".rs", ".txt")] {
            if !included.contains(&path) {
                let message = "is in no chapter of the book; include it there";
                problems.push(Problem::new(path, message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: (&str, &str) = ("examples/book/src/bin/a.rs", "//! A.");
    const OUTPUT: (&str, &str) = ("examples/book/src/bin/a.txt", "1");
    const INCLUDES: &str = "{{#include ../../../examples/book/src/bin/a.rs}}\n\
                            {{#include ../../../examples/book/src/bin/a.txt}}\n";

    fn locations(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .into_iter()
            .map(|it| it.location)
            .collect()
    }

    #[test]
    fn a_chapter_in_the_list_with_a_program_and_its_output_passes() {
        let files = [
            PROGRAM,
            OUTPUT,
            ("docs/book/chapters/a.md", INCLUDES),
            (LIST, "- [A](a.md)"),
        ];
        assert_eq!(locations(&files), Vec::<String>::new());
    }

    #[test]
    fn a_program_in_no_chapter_is_found() {
        assert_eq!(locations(&[PROGRAM]), [PROGRAM.0, OUTPUT.0]);
    }

    #[test]
    fn an_interactive_part_without_its_script_is_found() {
        let chapter = "<div class=\"interactive\" data-shows=\"beam\">";
        let files = [("docs/book/chapters/a.md", chapter), (LIST, "- [A](a.md)")];
        assert_eq!(locations(&files), ["docs/book/chapters/a.md:1"]);
    }

    #[test]
    fn missing_files_and_entries_are_found() {
        let files = [("docs/book/chapters/a.md", "{{#include b.rs}}"), (LIST, "")];
        assert_eq!(
            locations(&files),
            ["docs/book/chapters/a.md:1", "docs/book/chapters/a.md"]
        );
    }
}
