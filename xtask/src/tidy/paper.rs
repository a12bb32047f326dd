//! The items and tests in the tables of `docs/paper.md` exist.
//!
//! In the columns `code` and `test` of a table, every name between backquotes is a link to the Rust file
//! that defines it: `` [`Encoder`][encoder] ``. A name is that of an item, or of a type and its member with
//! `::` between them.

use std::collections::BTreeMap;

use super::documents::resolve;
use super::problem::Problem;
use super::tree::{TextFile, Tree};

const DOCUMENT: &str = "docs/paper.md";

/// The keywords before the name of an item.
const KEYWORDS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
];

/// The kind of thing that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Item,
    Test,
}

/// A name in a table.
#[derive(Debug, PartialEq, Eq)]
struct Mention<'a> {
    line: usize,
    kind: Kind,
    name: &'a str,
    /// The target of the name's link, as it is written.
    target: Option<&'a str>,
}

/// Checks every name in the tables of the document.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(document) = tree.files.iter().find(|file| file.path == DOCUMENT) else {
        return Vec::new();
    };
    let mentions = mentions(&document.text).into_iter();
    let problems = mentions.filter_map(|mention| {
        Some(Problem {
            location: format!("{DOCUMENT}:{}", mention.line),
            message: fault(&mention, tree)?,
        })
    });
    problems.collect()
}

/// Returns what is wrong with a name, if anything.
fn fault(mention: &Mention<'_>, tree: &Tree) -> Option<String> {
    let Mention { name, target, .. } = mention;
    let Some(target) = target else {
        return Some(format!(
            "`{name}` links to no file; write [`{name}`][file], and the file below the text"
        ));
    };
    let path = resolve("docs", target).unwrap_or_default();
    let is_it = |file: &&TextFile| file.path == path && path.ends_with(".rs");
    let Some(file) = tree.files.iter().find(is_it) else {
        return Some(format!("`{name}` links to `{target}`, no Rust file here"));
    };
    let (is_there, what) = match mention.kind {
        Kind::Item => (defines(&file.text, name), "item"),
        Kind::Test => (tests(&file.text).any(|test| test == *name), "test"),
    };
    (!is_there).then(|| format!("there is no {what} `{name}` in {path}"))
}

/// Returns the names in the tables of a text.
fn mentions(text: &str) -> Vec<Mention<'_>> {
    let definitions = definitions(text);
    let mut mentions = Vec::new();
    let mut kinds: Vec<Option<Kind>> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(row) = line.strip_prefix('|') else {
            kinds.clear();
            continue;
        };
        let cells = row.trim_end().trim_end_matches('|').split('|');
        if kinds.is_empty() {
            kinds = cells.map(|heading| kind_of(heading.trim())).collect();
            continue;
        }
        for (cell, kind) in cells.zip(&kinds) {
            let Some(kind) = *kind else { continue };
            mentions.extend(names(cell).map(|(name, target)| Mention {
                line: number,
                kind,
                name,
                target: target.and_then(|it| definitions.get(it).copied()),
            }));
        }
    }
    mentions
}

fn kind_of(heading: &str) -> Option<Kind> {
    match heading {
        "code" => Some(Kind::Item),
        "test" => Some(Kind::Test),
        _ => None,
    }
}

/// Returns the targets of the links that are defined below the text, by their names.
fn definitions(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    let definitions = lines.filter_map(|line| line.split_once("]: "));
    definitions
        .map(|(name, target)| (name, target.trim()))
        .collect()
}

/// Returns the names between backquotes in a cell, each with the label of its link.
fn names(cell: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let pieces: Vec<&str> = cell.split('`').collect();
    let n_names = pieces.len() / 2;
    (0..n_names).map(move |index| {
        let (before, name) = (pieces[2 * index], pieces[2 * index + 1]);
        let behind = pieces.get(2 * index + 2).copied().unwrap_or_default();
        let link = behind
            .strip_prefix("][")
            .and_then(|behind| behind.split_once(']'));
        let target = link.map(|(target, _)| target);
        (name, target.filter(|_| before.ends_with('[')))
    })
}

/// Returns whether a Rust text defines an item, or a member of a type if there is a `::` in the name.
fn defines(text: &str, name: &str) -> bool {
    match name.split_once("::") {
        None => text.lines().any(|line| declares(line, name)),
        Some((owner, member)) => {
            let mut is_inside = false;
            text.lines().any(|line| {
                // rustfmt ends at the margin what begins at the margin.
                if !line.starts_with([' ', '}']) && !line.is_empty() {
                    is_inside = line.ends_with('{') && words(line).any(|word| word == owner);
                }
                is_inside && (declares(line, member) || lists(line, member))
            })
        }
    }
}

/// Returns whether a line defines an item of this name.
fn declares(line: &str, name: &str) -> bool {
    let is_code = !line.trim_start().starts_with("//");
    let mut pairs = words(line).zip(words(line).skip(1));
    is_code && pairs.any(|(keyword, word)| KEYWORDS.contains(&keyword) && word == name)
}

/// Returns whether a line defines a field or variant of this name.
fn lists(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let behind = line.strip_prefix(name);
    behind.is_some_and(|behind| {
        [":", ",", "(", " {"]
            .iter()
            .any(|it| behind.starts_with(it))
    })
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split(move |c| !is_part(c))
        .filter(|word| !word.is_empty())
}

/// Returns the names of the tests of a Rust text.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    let mut is_marked = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        let was_marked = is_marked;
        is_marked = line == "#[test]" || (was_marked && line.starts_with("#["));
        let name = line.strip_prefix("fn ")?.split(['(', '<']).next();
        name.filter(|_| was_marked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
//! A file.

/// Stacks layers; fn nothing.
pub struct Encoder {
    /// How many.
    pub n_layers: usize,
}

pub enum Norm {
    Post,
    Pre { epsilon: f64 },
}

impl Encoder {
    pub(crate) fn forward(&self) {}
}

impl Norm {
    fn normalize(&self) {}
}

fn scratch() {}

mod tests {
    #[test]
    fn layers_are_stacked() {}
}
";

    /// Returns what is wrong with a row of items and tests.
    fn faults(items: &str, tests: &str) -> Vec<String> {
        let document = format!(
            "# The paper\n\n| paper | code | test |\n|---|---|---|\n| `softmax(QKᵀ)` | {items} | {tests} |\n\n\
             [a]: ../core/a.rs\n[gone]: ../core/gone.rs\n[text]: paper.md\n"
        );
        let tree = Tree::of(&[(DOCUMENT, &document), ("core/a.rs", CODE)]);
        check(&tree).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn items_and_tests_that_exist_pass() {
        let items = "[`Encoder`][a], [`Encoder::forward`][a], [`Encoder::n_layers`][a], \
                     [`Norm::Post`][a] and [`Norm::Pre`][a], [`scratch`][a]";
        assert_eq!(
            faults(items, "[`layers_are_stacked`][a]"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_wrong_name_is_found_with_its_line() {
        assert_eq!(
            faults("[`Encodr`][a]", ""),
            ["docs/paper.md:5: there is no item `Encodr` in core/a.rs"]
        );
    }

    #[test]
    fn a_name_in_a_comment_is_no_item() {
        assert_eq!(faults("[`nothing`][a]", "").len(), 1);
    }

    #[test]
    fn the_member_of_another_type_is_found() {
        assert_eq!(
            faults("[`Encoder::normalize`][a]", ""),
            ["docs/paper.md:5: there is no item `Encoder::normalize` in core/a.rs"]
        );
        assert_eq!(faults("[`Norm::n_layers`][a]", "").len(), 1);
        assert_eq!(faults("[`Encoder::scratch`][a]", "").len(), 1);
    }

    #[test]
    fn a_function_that_is_not_a_test_is_found() {
        assert_eq!(
            faults("", "[`scratch`][a]"),
            ["docs/paper.md:5: there is no test `scratch` in core/a.rs"]
        );
    }

    #[test]
    fn a_missing_file_is_found() {
        assert_eq!(
            faults("[`Encoder`][gone]", ""),
            ["docs/paper.md:5: `Encoder` links to `../core/gone.rs`, no Rust file here"]
        );
        assert_eq!(faults("[`Encoder`][text]", "").len(), 1);
    }

    #[test]
    fn a_name_without_a_link_is_found() {
        for items in ["`Encoder`", "[`Encoder`]", "[`Encoder`][unknown]"] {
            let faults = faults(items, "");
            assert!(
                faults[0].contains("`Encoder` links to no file"),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn a_table_ends_where_its_rows_end() {
        let text =
            "| code |\n|---|\n| [`A`][a] |\n\n| other |\n|---|\n| `B` |\n\n[a]: ../core/a.rs\n";
        let names: Vec<&str> = mentions(text).iter().map(|mention| mention.name).collect();
        assert_eq!(names, ["A"]);
    }

    #[test]
    fn the_document_of_this_repository_names_items_and_tests() -> anyhow::Result<()> {
        let tree = Tree::read(&crate::root())?;
        let document = tree.files.iter().find(|file| file.path == DOCUMENT);
        let mentions = document.map_or_else(Vec::new, |file| mentions(&file.text));
        let count = |kind| mentions.iter().filter(|it| it.kind == kind).count();
        // Fewer would mean that the tables are not read.
        assert!(count(Kind::Item) > 50, "{}", count(Kind::Item));
        assert!(count(Kind::Test) > 50, "{}", count(Kind::Test));
        Ok(())
    }
}
