//! The items and tests in the tables of `docs/paper.md` exist.
//!
//! In the columns `code` and `test` of a table, every name between backquotes is a link to the Rust file that defines
//! it: `` [`Encoder`][encoder] ``. A name is that of an item, or of a type and its member, separated by `::`.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::documents::resolve;
use super::rules::Problem;
use super::tree::Tree;

const DOCUMENT: &str = "docs/paper.md";

/// The keywords before the name of an item.
const KEYWORDS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
];

#[derive(Debug, PartialEq, Eq)]
struct Mention {
    line: usize,
    /// The heading of the column: `code` or `test`.
    column: String,
    name: String,
    /// The target of the name's link.
    target: Option<String>,
}

/// Checks every name in the tables of the document.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mentions = mentions(tree.text(DOCUMENT)).into_iter();
    let problems = mentions.filter_map(|mention| {
        let location = format!("{DOCUMENT}:{}", mention.line);
        Some(Problem::new(location, fault(&mention, tree)?))
    });
    problems.collect()
}

fn fault(mention: &Mention, tree: &Tree) -> Option<String> {
    let Mention { name, target, .. } = mention;
    let Some(target) = target else {
        return Some(format!(
            "`{name}` links to no file; write [`{name}`][file], and the file below the text"
        ));
    };
    let path = resolve("docs", target).unwrap_or_default();
    let Some(text) = tree.files.get(&path).filter(|_| path.ends_with(".rs")) else {
        return Some(format!("`{name}` links to `{target}`, no Rust file here"));
    };
    let (is_there, what) = match mention.column.as_str() {
        "code" => (defines(text, name), "item"),
        _ => (tests(text).any(|test| test == *name), "test"),
    };
    (!is_there).then(|| format!("there is no {what} `{name}` in {path}"))
}

fn mentions(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let (mut headings, mut column, mut target) = (Vec::<String>::new(), 0, None);
    let mut is_heading = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::TableHead) => (headings, is_heading) = (Vec::new(), true),
            Event::End(TagEnd::TableHead) => is_heading = false,
            Event::End(TagEnd::Table) => headings.clear(),
            Event::Start(Tag::TableRow) => column = 0,
            Event::Start(Tag::TableCell) if is_heading => headings.push(String::new()),
            Event::End(TagEnd::TableCell) => column += 1,
            Event::Text(text) if is_heading => {
                headings
                    .last_mut()
                    .into_iter()
                    .for_each(|it| it.push_str(&text));
            }
            Event::Start(Tag::Link { dest_url, .. }) => target = Some(dest_url.to_string()),
            Event::End(TagEnd::Link) => target = None,
            Event::Code(name) if !is_heading => mentions.extend(
                headings
                    .get(column)
                    .filter(|it| ["code", "test"].contains(&it.as_str()))
                    .map(|heading| Mention {
                        line: 1 + text[..range.start].matches('\n').count(),
                        column: heading.clone(),
                        name: name.to_string(),
                        target: target.clone(),
                    }),
            ),
            _ => {}
        }
    }
    mentions
}

/// Returns whether a Rust text defines an item, or a member of a type if there is a `::` in the name.
fn defines(text: &str, name: &str) -> bool {
    let Some((owner, member)) = name.split_once("::") else {
        return text.lines().any(|line| declares(line, name));
    };
    let mut is_inside = false;
    text.lines().any(|line| {
        // rustfmt ends an item at the margin if it begins at the margin.
        if !line.starts_with([' ', '}']) && !line.is_empty() {
            is_inside = line.ends_with('{') && words(line).any(|word| word == owner);
        }
        is_inside && (declares(line, member) || lists(line, member))
    })
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
    let after = line.strip_prefix(name);
    after.is_some_and(|after| [":", ",", "(", " {"].iter().any(|it| after.starts_with(it)))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

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

    /// Returns the faults of a row of items and tests.
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
        let names: Vec<String> = mentions(text).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["A"]);
    }

    #[test]
    fn the_document_of_this_repository_names_items_and_tests() -> anyhow::Result<()> {
        let tree = Tree::read(&crate::root())?;
        let mentions = mentions(tree.text(DOCUMENT));
        let count = |column| mentions.iter().filter(|it| it.column == column).count();
        // Fewer would mean that the tables are not read.
        assert!(count("code") > 50, "{}", count("code"));
        assert!(count("test") > 50, "{}", count("test"));
        Ok(())
    }
}
