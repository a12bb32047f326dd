//! Every listing in the documents is tested, or says why it is not.
//!
//! The line before a listing of commands or settings is one of
//!
//! ```text
//! <!-- run by CI -->                   .ci/docs runs it, in small
//! <!-- run by CI: .ci/run -->          this file runs the same command
//! <!-- not run by CI: takes hours -->  nothing runs it, for this reason
//! ```
//!
//! Listings of Rust code are doctests of `examples/documents.rs`, or include a program with mdBook's
//! `{{#include PATH}}`.

use super::rules::Problem;
use super::tree::Tree;
use crate::book_pages::included;

/// The languages of listings that readers type in or save.
const LANGUAGES: [&str; 3] = ["sh", "toml", "python"];

/// A diary: the commands typed on the day of a measurement.
const DIARY: &str = "docs/lab-notes.md";

/// The script that runs the listings of these pages.
const RUNNER: &str = ".ci/docs";

/// The file that tests the Rust code of these pages.
const DOCTESTS: &str = "examples/documents.rs";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let documents = tree.ending(".md").filter(|(path, _)| *path != DIARY);
    documents
        .flat_map(|(path, text)| check_document(path, text, tree))
        .collect()
}

fn check_document(path: &str, text: &str, tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut before = "";
    let mut is_inside = false;
    let next = text.lines().skip(1).chain([""]);
    for ((line, next), number) in text.lines().zip(next).zip(1..) {
        if let Some(info) = line.strip_prefix("```") {
            let language = info.split(',').next().unwrap_or_default();
            let message = match language {
                // A program of the book is tested in its own place; `chapters.rs` checks that it exists.
                _ if is_inside || included(next).is_some() => None,
                "rust" => missing(tree, DOCTESTS, path),
                _ if LANGUAGES.contains(&language) => fault(before, path, tree),
                _ => None,
            };
            problems.extend(message.map(|it| Problem::new(format!("{path}:{number}"), it)));
            is_inside = !is_inside;
        }
        before = line;
    }
    problems
}

/// Returns the fault of the line before a listing, if any.
fn fault(marker: &str, page: &str, tree: &Tree) -> Option<String> {
    let marker = marker
        .strip_prefix("<!-- ")
        .and_then(|it| it.strip_suffix(" -->"));
    match marker.map(|it| it.split_once(": ").unwrap_or((it, ""))) {
        Some(("run by CI", "")) => missing(tree, RUNNER, page),
        Some(("run by CI", path)) => (!tree.paths.contains(path))
            .then(|| format!("is run by `{path}`, which does not exist")),
        Some(("not run by CI", reason)) if !reason.is_empty() => None,
        _ => Some(
            "is a listing that nothing runs; write `<!-- run by CI: PATH -->` or \
             `<!-- not run by CI: REASON -->` on the line before"
                .to_owned(),
        ),
    }
}

/// Returns the fault if a file does not name a page.
fn missing(tree: &Tree, path: &str, page: &str) -> Option<String> {
    (!tree.text(path).contains(page))
        .then(|| format!("is a listing of a page that {path} does not test; add the page there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("README.md", text),
            (".ci/docs", "for page in README.md; do"),
            (
                "examples/documents.rs",
                "documents! { Page: \"../docs/page.md\" }",
            ),
        ]);
        check(&tree).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn marked_listings_pass() {
        let text = "<!-- run by CI -->\n```sh\nls\n```\n<!-- run by CI: .ci/docs -->\n```toml\n```\n\
                    <!-- not run by CI: needs a GPU -->\n```python\n```\n";
        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn what_a_program_prints_needs_no_marker() {
        assert!(faults("```text\n$ ls\n```\n\n```\n```\n").is_empty());
    }

    #[test]
    fn listings_without_marker_reason_or_file_are_found_with_their_line() {
        let text = "\n```sh\n```\n<!-- not run by CI: -->\n```sh\n```\n<!-- run by CI: gone.rs -->\n```sh\n```\n";
        let lines: Vec<String> = faults(text)
            .iter()
            .filter_map(|it| Some(it.split(':').nth(1)?.to_owned()))
            .collect();
        assert_eq!(lines, ["2", "5", "8"]);
    }

    #[test]
    fn rust_code_that_is_no_doctest_is_found() {
        let found = faults("```rust,no_run\nfn main() {}\n```\n");
        assert_eq!(
            found,
            [
                "README.md:1: is a listing of a page that examples/documents.rs does not test; add the page there"
            ]
        );
    }

    #[test]
    fn an_included_program_is_tested_where_it_is() {
        assert!(faults("```rust\n{{#include ../../a.rs}}\n```\n").is_empty());
    }

    #[test]
    fn a_page_that_the_runner_does_not_name_is_found() {
        let tree = Tree::of(&[
            ("docs/a.md", "<!-- run by CI -->\n```sh\n```\n"),
            (".ci/docs", "README.md"),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }
}
